// Finds a file's call frame information. Internal to binaries/.
#pragma once

#include <vector>

#include "binaries/elf/elf_image.hpp"
#include "binaries/unwind/call_frame_entries.hpp"
#include "core/result.hpp"

namespace lagtrap::binaries {

// A table is about 90 % of the size of its input; more than this would not fit.
inline constexpr std::uint64_t max_call_frame_bytes = 72ULL << 20;

// Reads .eh_frame, found by its section header or else by the segment of its index
// (PT_GNU_EH_FRAME), and then .debug_frame, unpacked. Empty if there is neither. Fails only if
// nothing could be read and something was unreadable.
[[nodiscard]] Result<std::vector<CallFrameSection>> read_call_frame_sections(const ElfImage& image);

}  // namespace lagtrap::binaries
