// Parses jitdumps (`jit-PID.dump`), in which a program records the code it generated, when, and
// where it moved (linux, tools/perf/Documentation/jitdump-specification.txt). The program maps a
// page of the file executable, so that profilers can find it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "trace/names/jit_pieces.hpp"

namespace lagtrap::trace {

struct Jitdump {
    std::vector<JitPiece> pieces;  // in file order
    std::uint64_t damaged = 0;     // records shorter than they declare; a torn end counts as one
    std::uint64_t left_out = 0;    // beyond code_pieces_limit
};

// True if the file name is that of a jitdump: ".../jit-NUMBER.dump".
[[nodiscard]] bool is_jitdump_path(std::string_view path);

// `content` may be any bytes and must outlive the pieces. Reads code loads, code moves and the end
// mark; skips other records. Time stamps are CLOCK_MONOTONIC; if the header says they are the
// processor's, the pieces have none. Errors: not a jitdump, other byte order, version other than 1.
[[nodiscard]] Result<Jitdump> parse_jitdump(std::string_view content);

}  // namespace lagtrap::trace
