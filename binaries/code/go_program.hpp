// Recognises programs built by the Go compiler. Internal to binaries/.
#pragma once

#include <cstdint>
#include <string>

#include "binaries/elf/elf_image.hpp"

namespace lagtrap::binaries {

struct GoProgram {
    bool is_go = false;
    std::string version;  // "go1.19.8"; empty if unknown
    // of a goroutine's number in its structure (runtime.g), in bytes; 0 if unknown
    std::uint32_t goid_offset = 0;
    std::uint32_t frame_offset = 0;  // likewise, of a waiting goroutine's frame pointer
    std::string refusal;             // why its functions cannot be watched; empty if they can
};

// Never fails: a file that cannot be read counts as not Go, or as refused.
[[nodiscard]] GoProgram read_go_program(const ElfImage& image);

}  // namespace lagtrap::binaries
