// Names the frames of JIT code.
#pragma once

#include <cstdint>
#include <filesystem>

#include "trace/stacks/stack_table.hpp"

namespace lagtrap::trace {

struct RunTimeNaming {
    std::uint64_t frames = 0;  // in JIT code or unknown code
    std::uint64_t named = 0;
    std::uint64_t files_bad = 0;  // copies that are unreadable or not what their name says
    // damaged lines and records in the other files, or beyond the limit of pieces
    std::uint64_t lines_bad = 0;
};

// Names frames from the files in `capture_directory`/code (trace/logs/code_files.hpp) and moves
// them to jit_module; all other frames keep their address. `started_ns` is the begin of the
// recording. Holds one file in memory at a time.
RunTimeNaming name_run_time_code(StackTable& stacks, const std::filesystem::path& capture_directory,
                                 std::uint64_t started_ns);

}  // namespace lagtrap::trace
