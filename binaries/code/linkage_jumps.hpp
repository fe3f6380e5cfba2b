// Finds the jumps of procedure linkage tables (PLT) by their machine code, because linkers do not
// always write unwind information for them (ld omits it in static programs, lld always). Internal
// to binaries/.
#pragma once

#include <cstdint>
#include <vector>

#include "binaries/elf/elf_image.hpp"

namespace lagtrap::binaries {

inline constexpr std::uint64_t max_linkage_bytes = 16ULL << 20;

// Code during which stack and registers are as at the call: CFA = rsp + 8 throughout.
struct LinkageJump {
    std::uint64_t begin = 0;  // as linked
    std::uint64_t end = 0;
};

// Returns the indirect jump through the global offset table at the start of each entry of .plt,
// .plt.sec, .plt.got or .iplt, including a preceding endbr64 (System V ABI for x86-64, 5.2), by
// address, without overlaps. Excludes the rest of an entry, which is for lazy binding and pushes.
// Skips sections larger than max_linkage_bytes and those that cannot be read.
[[nodiscard]] std::vector<LinkageJump> read_linkage_jumps(const ElfImage& image);

}  // namespace lagtrap::binaries
