// Jitdump: `jit-PID.dump`, in which a program tells what code it made, when, and what became of it (linux,
// tools/perf/Documentation/jitdump-specification.txt). The program maps a page of the file executable, which shows
// everyone where it is.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "trace/names/jit_pieces.hpp"

namespace lagtrap::trace {

struct Jitdump {
    std::vector<JitPiece> pieces;  // in the order of the file
    std::uint64_t damaged = 0;     // records that do not hold what they announce; a torn end counts as one
    std::uint64_t left_out = 0;    // beyond code_pieces_limit
};

// Whether a file of this path is, by its name, a jitdump: ".../jit-NUMBER.dump".
[[nodiscard]] bool is_jitdump_path(std::string_view path);

// `content` may be any bytes and must outlive the pieces. Reads loads and moves of code and the end mark; other
// records are passed over. Time stamps are CLOCK_MONOTONIC; where the header says that they are the processor's, the
// pieces have none. Errors: no jitdump, one of the other byte order, one of another version than 1.
[[nodiscard]] Result<Jitdump> parse_jitdump(std::string_view content);

}  // namespace lagtrap::trace
