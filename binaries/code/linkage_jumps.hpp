// The jumps of a procedure linkage table (PLT), found by their machine code: not every linker writes unwind information
// for them (ld none in static programs, lld none at all). Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "binaries/elf/elf_image.hpp"

namespace lagtrap::binaries {

inline constexpr std::uint64_t max_linkage_bytes = 16ULL << 20;

// Code that leaves stack and registers as the call left them: CFA = rsp + 8 in all of it.
struct LinkageJump {
    std::uint64_t begin = 0;  // as linked
    std::uint64_t end = 0;
};

// Each indirect jump through the global offset table with which an entry of .plt, .plt.sec, .plt.got or .iplt begins,
// an endbr64 before it included (System V ABI for x86-64, 5.2), by address and without overlap. What else an entry has,
// the lazy binding, pushes and is left out. Sections of more than max_linkage_bytes and those that cannot be read are
// left out too.
[[nodiscard]] std::vector<LinkageJump> read_linkage_jumps(const ElfImage& image);

}  // namespace lagtrap::binaries
