// Formats counted functions as rows of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/calls/calls_text.hpp"

namespace lagtrap::cli {

struct FunctionRow {
    std::string name;
    std::string source;  // "main.c:12"; empty if unknown
    std::uint64_t calls = 0;
    std::uint64_t own_ns = 0;
    std::uint64_t longest_ns = 0;
    std::vector<std::string> path;  // to the longest call, its caller last
    bool timed = true;              // false: its calls were only counted
};

// "main.c:12" for "/src/main.c" and 12; empty if the line is unknown.
[[nodiscard]] std::string source_place(const std::string& path, std::uint32_t line);

// Most own time first, then most calls; at most `top`. Shares refer to `whole_ns`.
[[nodiscard]] std::string own_time_rows(std::vector<FunctionRow> rows, std::uint64_t whole_ns,
                                        std::size_t top, const CallsLook& look);
// The functions with the longest single calls, and the path to each; empty if no call has a time.
[[nodiscard]] std::string longest_rows(std::vector<FunctionRow> rows, const CallsLook& look);

}  // namespace lagtrap::cli
