// Names the frames of JIT code.
#pragma once

#include <cstdint>
#include <filesystem>

#include "trace/stacks/stack_table.hpp"

namespace lagtrap::trace {

struct RunTimeNaming {
    std::uint64_t frames = 0;  // of JIT code, or unknown
    std::uint64_t named = 0;
    std::uint64_t files_bad = 0;  // copies that could not be read, or are not what their name says
    std::uint64_t lines_bad = 0;  // lines and records of the others that are damaged, or beyond the limit of pieces
};

// Names what the files in `capture_directory`/code (trace/logs/code_files.hpp) know; the others keep their address. A named
// frame is in jit_module. `started_ns` is the recording's begin. One file is in memory at a time.
RunTimeNaming name_run_time_code(StackTable& stacks, const std::filesystem::path& capture_directory,
                                 std::uint64_t started_ns);

}  // namespace lagtrap::trace
