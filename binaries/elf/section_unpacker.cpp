#include "binaries/elf/section_unpacker.hpp"

#include <elf.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace lagtrap::binaries {
namespace {

// ELFCOMPRESS_ZSTD; missing in elf.h of glibc 2.36.
constexpr std::uint32_t type_zstd = 2;

Error damaged() { return make_error(ErrorKind::Invalid, "its compressed data is damaged"); }

class Inflater {
  public:
    Inflater() : ok_(::inflateInit(&stream_) == Z_OK) {}
    ~Inflater() {
        if (ok_) ::inflateEnd(&stream_);
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
    [[nodiscard]] bool ok() const { return ok_; }
    z_stream* get() { return &stream_; }

  private:
    z_stream stream_{};
    bool ok_;
};

Status unpack_zlib(const PackedSource& source, char* into, std::uint64_t size) {
    Inflater inflater;
    if (!inflater.ok()) return make_error(ErrorKind::System, "cannot initialize zlib");
    z_stream& stream = *inflater.get();
    std::uint64_t written = 0;
    for (;;) {
        TRY_ASSIGN(std::string packed, source());
        if (packed.empty()) return damaged();
        stream.next_in = reinterpret_cast<Bytef*>(packed.data());
        stream.avail_in = static_cast<uInt>(packed.size());
        while (stream.avail_in > 0) {
            const auto room =
                std::min<std::uint64_t>(size - written, std::numeric_limits<uInt>::max());
            stream.next_out = reinterpret_cast<Bytef*>(into + written);
            stream.avail_out = static_cast<uInt>(room);
            const int answer = ::inflate(&stream, Z_NO_FLUSH);
            written += room - stream.avail_out;
            if (answer == Z_STREAM_END) return written == size ? success() : damaged();
            if (answer != Z_OK) return damaged();
        }
    }
}

Status unpack_zstd(const PackedSource& source, char* into, std::uint64_t size) {
    const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                            &ZSTD_freeDStream);
    if (!stream) return make_error(ErrorKind::System, "cannot initialize zstd");
    ZSTD_outBuffer output{into, size, 0};
    for (;;) {
        TRY_ASSIGN(const std::string packed, source());
        if (packed.empty()) return damaged();
        ZSTD_inBuffer input{packed.data(), packed.size(), 0};
        while (input.pos < input.size) {
            const std::size_t before = input.pos + output.pos;
            const std::size_t answer = ZSTD_decompressStream(stream.get(), &output, &input);
            if (ZSTD_isError(answer) != 0) return damaged();
            if (answer == 0 && output.pos == size) return success();
            if (input.pos + output.pos == before) return damaged();
        }
    }
}

}  // namespace

Status unpack_section(std::uint32_t type, const PackedSource& source, char* into,
                      std::uint64_t size) {
    if (type == ELFCOMPRESS_ZLIB) return unpack_zlib(source, into, size);
    if (type == type_zstd) return unpack_zstd(source, into, size);
    return make_error(ErrorKind::Unsupported, "its compression type is " + std::to_string(type) +
                                                  "; expected zlib (1) or zstd (2)");
}

}  // namespace lagtrap::binaries
