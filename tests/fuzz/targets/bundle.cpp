// The input is the tar file of a bundle, after a byte that gives its compression. Checksums of its
// headers are corrected first, otherwise only the checksum would be tested; a byte of zero leaves
// the input unchanged.
#include "trace/bundle/bundle.hpp"

#include <zstd.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/memory_file.hpp"

namespace {

constexpr std::size_t header_bytes = 512;
constexpr std::size_t trace_limit_bytes = 1 << 20;

void set_checksum(std::string& tar, std::size_t header) {
    tar.replace(header + 148, 8, "        ");
    unsigned sum = 0;
    for (std::size_t i = header; i < header + header_bytes; ++i)
        sum += static_cast<unsigned char>(tar[i]);
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06o", sum);
    tar.replace(header + 148, 7, digits, 7);
}

void mend(std::string& tar) {
    for (std::size_t header = 0; header + header_bytes <= tar.size();) {
        if (tar[header] == 0) return;
        set_checksum(tar, header);
        std::uint64_t size_bytes = 0;
        std::from_chars(&tar[header + 124], &tar[header + 135], size_bytes, 8);
        if (size_bytes > tar.size()) return;
        header += header_bytes + (size_bytes + header_bytes - 1) / header_bytes * header_bytes;
    }
}

std::string pack(const std::string& tar, int level) {
    std::string packed(ZSTD_compressBound(tar.size()), '\0');
    const std::size_t size =
        ZSTD_compress(packed.data(), packed.size(), tar.data(), tar.size(), level);
    if (ZSTD_isError(size) != 0) std::abort();
    packed.resize(size);
    return packed;
}

void read(const std::string& bytes) {
    const lagtrap::fuzz::MemoryFile file(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                         bytes.size());
    const auto content = lagtrap::trace::read_open_bundle(file.fd(), trace_limit_bytes);
    if (!content) return;
    if (content->trace.size() > trace_limit_bytes) std::abort();
    // Reading in pieces gives the same.
    const lagtrap::fuzz::MemoryFile again(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                          bytes.size());
    std::string pieces;
    const auto read = lagtrap::trace::read_open_bundle_trace(again.fd(), trace_limit_bytes,
                                                             [&](std::string_view piece) {
                                                                 pieces += piece;
                                                                 return lagtrap::success();
                                                             });
    if (!read || pieces != content->trace) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::string bytes(lagtrap::fuzz::text_of(data + 1, size - 1));
    if (data[0] != 0) {
        mend(bytes);
        bytes = pack(bytes, 1);
    }
    read(bytes);
    return 0;
}
