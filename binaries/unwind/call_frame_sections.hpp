// Where a file keeps its call frame information. Used by the other files of this folder.
#pragma once

#include <vector>

#include "binaries/elf/elf_image.hpp"
#include "binaries/unwind/call_frame_entries.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// A table has about nine tenths of the size of what it is made of: more than this would not fit into one.
inline constexpr std::uint64_t max_call_frame_bytes = 72ULL << 20;

// .eh_frame, by its section header or, where that is missing, by the segment of its index (PT_GNU_EH_FRAME), and then
// .debug_frame, unpacked. Empty where there is neither. Errors: those of what is there and cannot be read, if
// nothing else could be read.
[[nodiscard]] Result<std::vector<CallFrameSection>> read_call_frame_sections(const ElfImage& image);

}  // namespace lagtrap::binaries
