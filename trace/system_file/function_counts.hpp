// What a trace of functions counted, as the system file has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagtrap::trace {

// Of all calls of one function together. Times without the probes'.
struct CountedFunction {
    std::string name;
    std::string module;      // path of the file that has it
    std::string source;      // path of its source file; empty: not known
    std::uint32_t line = 0;  // in it; 0: not known
    std::uint64_t calls = 0;
    std::uint64_t left = 0;  // of these: by no instruction of their own
    std::uint64_t own_ns = 0;
    std::uint64_t longest_ns = 0;   // the longest single call
    std::vector<std::string> path;  // to that one, its caller last
};

struct FunctionCounts {
    static constexpr std::size_t functions_limit = 200;
    static constexpr std::size_t path_limit = 16;

    std::uint32_t pid = 0;
    std::string process;
    std::uint64_t from_ns = 0;               // CLOCK_BOOTTIME: what ended since then is counted
    std::uint64_t length_ns = 0;             // 0: it ended before it told its counts
    std::uint64_t window_ns = 0;             // of a standing trace; 0: it began at the breach
    std::uint64_t watched = 0;               // functions
    std::uint64_t taken_out = 0;             // of these, as they were called too often
    std::uint64_t least_ns = 0;              // shorter calls have no slice, in the end
    std::uint64_t told = 0;                  // calls that have one
    std::uint64_t not_told = 0;              // that would have one, had there been room
    std::uint64_t too_deep = 0;              // calls that were not seen
    std::vector<CountedFunction> functions;  // most own time first: those with most, and those with the longest calls
    std::uint64_t others = 0;                // functions beyond these
    std::uint64_t others_calls = 0, others_own_ns = 0;
};

}  // namespace lagtrap::trace
