// The input is a log. Its checksums are corrected first, otherwise only the checksum would be
// tested.
#include "trace/logs/log.hpp"

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fuzz/memory_file.hpp"
#include "trace/logs/log_format.hpp"

namespace {

using namespace lagtrap::trace;

std::uint32_t checksum(const std::string& log, std::size_t begin, std::size_t size,
                       std::uint32_t so_far = 0) {
    return static_cast<std::uint32_t>(
        crc32(so_far, reinterpret_cast<const Bytef*>(log.data()) + begin, static_cast<uInt>(size)));
}

void put(std::string& log, std::size_t offset, std::uint32_t value) {
    std::memcpy(&log[offset], &value, sizeof value);
}

void mend(std::string& log) {
    std::size_t place = sizeof(LogFileHeader);
    if (log.size() < place) return;
    put(log, offsetof(LogFileHeader, checksum),
        checksum(log, 0, offsetof(LogFileHeader, checksum)));
    while (log.size() - place >= sizeof(LogBlockHeader)) {
        LogBlockHeader header{};
        std::memcpy(&header, &log[place], sizeof header);
        const std::size_t payload = place + sizeof header;
        if (header.payload_bytes > log.size() - payload) return;
        const std::uint32_t fields = checksum(log, place, offsetof(LogBlockHeader, checksum));
        put(log, place + offsetof(LogBlockHeader, checksum),
            checksum(log, payload, header.payload_bytes, fields));
        place = payload + header.payload_bytes;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string log(lagtrap::fuzz::text_of(data, size));
    mend(log);
    const lagtrap::fuzz::MemoryFile file(reinterpret_cast<const std::uint8_t*>(log.data()),
                                         log.size());
    auto reader = LogReader::open(file.path());
    if (!reader) return 0;
    std::uint64_t sum = 0;
    while (true) {
        const auto record = reader->next();
        if (!record || *record == nullptr) break;
        // Everything announced is there.
        const auto* const bytes = reinterpret_cast<const unsigned char*>(*record);
        for (std::uint32_t at = 0; at < (*record)->size_bytes; ++at) sum += bytes[at];
    }
    // impossible for a record's bytes: those of its header alone add up to more
    if (sum == 1) std::abort();
    return 0;
}
