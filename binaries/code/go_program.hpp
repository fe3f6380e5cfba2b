// What tells a program that the Go compiler made from others. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <string>

#include "binaries/elf/elf_image.hpp"

namespace lagtrap::binaries {

struct GoProgram {
    bool is_go = false;
    std::string version;             // "go1.19.8"; empty: not known
    std::uint32_t goid_offset = 0;   // in bytes, of a goroutine's number in its structure (runtime.g); 0: not known
    std::uint32_t frame_offset = 0;  // the same, of the frame pointer of one that waits
    std::string refusal;             // why its functions cannot be watched; empty: they can
};

// Of a file that is open. Never fails: what cannot be read is no Go program, or one that is refused.
[[nodiscard]] GoProgram read_go_program(const ElfImage& image);

}  // namespace lagtrap::binaries
