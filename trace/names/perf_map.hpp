// Perf maps: `perf-PID.map`, a text file in which a program tells what code it made. One line per piece, "START SIZE
// NAME", numbers hexadecimal (linux, tools/perf/Documentation/jit-interface.txt). V8, the JVM, CPython write them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/names/jit_pieces.hpp"

namespace lagtrap::trace {

struct PerfMap {
    std::vector<JitPiece> pieces;  // in the order of the file; a later line takes the place of what it overlaps
    std::uint64_t damaged = 0;     // lines that are none, a last one without its end among them
    std::uint64_t left_out = 0;    // beyond code_pieces_limit
};

// `content` may be any bytes and must outlive the pieces. START and SIZE have up to 16 digits, with or without "0x";
// a SIZE of 0 and pieces that reach beyond the last address are damaged.
[[nodiscard]] PerfMap parse_perf_map(std::string_view content);

}  // namespace lagtrap::trace
