// The bytes of a log: one LogFileHeader, then blocks, each a LogBlockHeader and payload_bytes of
// records. All numbers are little-endian. A record is padded with zeros to a multiple of
// record_alignment_bytes; its size_bytes excludes the padding. The log ends before the first block
// whose checksum does not match.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagtrap::trace {

inline constexpr char log_magic[8] = {'L', 'A', 'G', 'T', 'R', 'L', 'O', 'G'};
inline constexpr std::uint32_t log_block_magic = 0x314b4c42;  // "BLK1"
inline constexpr std::size_t record_alignment_bytes = 8;

struct LogFileHeader {
    char magic[8];
    std::uint32_t version;
    std::uint32_t kind;  // LogKind
    std::uint64_t monotonic_ns;
    std::uint64_t boottime_ns;
    std::uint64_t realtime_ns;
    char session_id[64];  // NUL-terminated
    std::uint32_t padding;
    std::uint32_t checksum;  // CRC-32 (zlib's) of all preceding bytes
};
static_assert(sizeof(LogFileHeader) == 112);

struct LogBlockHeader {
    std::uint32_t magic;
    std::uint32_t payload_bytes;  // a multiple of record_alignment_bytes, at most log_block_bytes
    std::uint32_t record_count;
    std::uint32_t checksum;  // CRC-32 of the three preceding fields, then of the payload
};
static_assert(sizeof(LogBlockHeader) == 16);

// Size of a record in a block, including padding.
[[nodiscard]] constexpr std::size_t padded_record_bytes(std::size_t size_bytes) {
    return (size_bytes + record_alignment_bytes - 1) / record_alignment_bytes *
           record_alignment_bytes;
}

}  // namespace lagtrap::trace
