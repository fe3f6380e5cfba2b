// The entries of .eh_frame (LSB Core, 10.6) and .debug_frame (DWARF 5, 6.4.1): which functions have unwind information,
// and where it is. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binaries/unwind/call_frame_program.hpp"

namespace lagtrap::binaries {

// The content of one section, or of the part of a segment that stands for it.
struct CallFrameSection {
    std::string bytes;          // less than 4 GiB
    std::uint64_t address = 0;  // of the first, as linked
    std::optional<std::uint64_t> data_base;
    bool is_debug_frame = false;
    bool ends_at_zero = false;  // where it ends is not known: an empty entry is the end
};

// One frame description entry (FDE): a function and its instructions.
struct CallFrameFunction {
    std::uint64_t begin = 0;  // as linked
    std::uint32_t size = 0;
    std::uint32_t cie = 0;  // number in CallFrameEntries::cies
    std::uint32_t code_begin = 0;
    std::uint32_t code_end = 0;
    bool has_landing_pads = false;
};

struct CallFrameEntries {
    std::vector<CallFrameCie> cies;
    std::vector<CallFrameFunction> functions;  // in the order of the sections
    bool damaged = false;                      // entries were left out
};

// Adds the entries of `section`, the one with this number, to `entries`. Time and memory are linear in its size; damaged
// entries are left out, those that lie behind one with a wrong length too.
void read_call_frame_entries(const CallFrameSection& section, std::uint32_t number, CallFrameEntries& entries);

// The instructions of one of its functions.
[[nodiscard]] inline CallFrameCode code_of(const CallFrameSection& section, std::uint32_t begin, std::uint32_t end) {
    return CallFrameCode{section.bytes, begin, end, {section.address, section.data_base}};
}

}  // namespace lagtrap::binaries
