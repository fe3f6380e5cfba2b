// Reads the entries of .eh_frame (LSB Core, 10.6) and .debug_frame (DWARF 5, 6.4.1): which
// functions have unwind information, and where it is. Internal to binaries/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binaries/unwind/call_frame_program.hpp"

namespace lagtrap::binaries {

// The content of one section, or of a part of a segment that replaces it.
struct CallFrameSection {
    std::string bytes;          // less than 4 GiB
    std::uint64_t address = 0;  // of the first byte, as linked
    std::optional<std::uint64_t> data_base;
    bool is_debug_frame = false;
    bool ends_at_zero = false;  // its size is unknown; an empty entry ends it
};

// A frame description entry (FDE): a function and its instructions.
struct CallFrameFunction {
    std::uint64_t begin = 0;  // as linked
    std::uint32_t size = 0;
    std::uint32_t cie = 0;  // index into CallFrameEntries::cies
    std::uint32_t code_begin = 0;
    std::uint32_t code_end = 0;
    bool has_landing_pads = false;
};

struct CallFrameEntries {
    std::vector<CallFrameCie> cies;
    std::vector<CallFrameFunction> functions;  // in the order of the sections
    bool damaged = false;                      // some entries were skipped
};

// Adds the entries of `section`, whose index is `number`, to `entries`. Time and memory are linear
// in its size. Skips damaged entries, and all those after an entry with a wrong length.
void read_call_frame_entries(const CallFrameSection& section, std::uint32_t number,
                             CallFrameEntries& entries);

// The instructions of one function in the section.
[[nodiscard]] inline CallFrameCode code_of(const CallFrameSection& section, std::uint32_t begin,
                                           std::uint32_t end) {
    return CallFrameCode{section.bytes, begin, end, {section.address, section.data_base}};
}

}  // namespace lagtrap::binaries
