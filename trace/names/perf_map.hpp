// Parses perf maps (`perf-PID.map`), text files in which a program lists the code it generated.
// Each line is one piece, "START SIZE NAME", in hexadecimal (linux,
// tools/perf/Documentation/jit-interface.txt). V8, the JVM and CPython write them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/names/jit_pieces.hpp"

namespace lagtrap::trace {

struct PerfMap {
    std::vector<JitPiece> pieces;  // in file order; a later line replaces whatever it overlaps
    std::uint64_t damaged = 0;     // malformed lines, including an incomplete last line
    std::uint64_t left_out = 0;    // beyond code_pieces_limit
};

// `content` may be any bytes and must outlive the pieces. START and SIZE have up to 16 digits, with
// or without "0x". Lines with a SIZE of 0, and pieces that extend past the last address, count as
// damaged.
[[nodiscard]] PerfMap parse_perf_map(std::string_view content);

}  // namespace lagtrap::trace
