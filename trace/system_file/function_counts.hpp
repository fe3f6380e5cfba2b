// The counts of a function trace, as stored in the system file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagtrap::trace {

// All calls of one function together. Times exclude probe overhead.
struct CountedFunction {
    std::string name;
    std::string module;      // path of the file that contains it
    std::string source;      // path of its source file; empty if unknown
    std::uint32_t line = 0;  // in the source file; 0 if unknown
    std::uint64_t calls = 0;
    std::uint64_t left = 0;  // calls that did not end with the function's own return
    std::uint64_t own_ns = 0;
    std::uint64_t longest_ns = 0;   // longest single call
    std::vector<std::string> path;  // call path to the longest call, starting with its caller
};

struct FunctionCounts {
    static constexpr std::size_t functions_limit = 200;
    static constexpr std::size_t path_limit = 16;

    std::uint32_t pid = 0;
    std::string process;
    // CLOCK_BOOTTIME: calls that ended since then are counted
    std::uint64_t from_ns = 0;
    std::uint64_t length_ns = 0;  // 0 if the trace ended before it sent its counts
    std::uint64_t window_ns = 0;  // of a standing trace; 0 if it began at the breach
    std::uint64_t watched = 0;    // functions
    // functions detached because they were called too often
    std::uint64_t detached = 0;
    std::uint64_t min_ns = 0;        // final minimum; shorter calls have no slice
    std::uint64_t reported = 0;      // calls with a slice
    std::uint64_t not_reported = 0;  // calls that would have one, but for lack of room
    std::uint64_t too_deep = 0;      // calls nested too deeply to be seen
    // with most own time, or with the longest calls; by own time
    std::vector<CountedFunction> functions;
    std::uint64_t others = 0;  // number of further functions
    std::uint64_t others_calls = 0, others_own_ns = 0;
};

}  // namespace lagtrap::trace
