// One call of a function with all calls below it that were watched, each for itself: the tree as it was recorded, and its
// times without what the probes took.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::calls {

// What probes add to one call of a function, as measured on this machine.
struct ProbeCost {
    std::uint64_t inside_ns = 0;  // between the moments that are taken for its begin and its end
    std::uint64_t around_ns = 0;  // before and behind: its caller's time
};

struct Function {
    std::string name;
    std::string module;       // path of the file that has it
    std::uint32_t level = 0;  // 0: what the trace is of; 1: what that calls, ...
    bool seen = false;        // found by looking at indirect calls, not read from the code
    ProbeCost cost;
    std::uint64_t entry = 0;  // of its first instruction, in the file
    std::string source;       // path of its source file; empty: not known
    std::uint32_t line = 0;   // in it, where the function begins; 0: not known
};

enum class CallEnd : std::uint8_t {
    Returned,
    TailCall,   // another function began in its place
    Left,       // by an exception, longjmp or a switch of stacks: it ended at the latest then
    ThreadEnd,  // the thread ended, or became another program; the goroutine ended
};

// "returned", "tail call", "left", "thread ended".
[[nodiscard]] const char* name_of(CallEnd end);
[[nodiscard]] std::optional<CallEnd> call_end_named(std::string_view name);

inline constexpr std::uint32_t no_parent = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::size_t most_nodes = 1 << 16;

struct Call {
    std::uint32_t function = 0;
    std::uint32_t parent = no_parent;  // a node before it
    std::uint64_t begin_ns = 0;        // since the tree's begin
    std::uint64_t end_ns = 0;
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t runnable_ns = 0;       // waiting for a CPU
    std::uint32_t left_out = 0;          // calls below it of which nothing more is known: the tree was full
    std::uint64_t left_out_cost_ns = 0;  // of their probes
    CallEnd end = CallEnd::Returned;
};

struct Tree {
    std::uint32_t tid = 0;
    std::string thread;  // its name
    std::uint64_t goroutine =
        0;  // its number, in a program of Go: the tree is its, and began on that thread; 0: it is the thread's
    std::uint64_t began_realtime_ns = 0;
    std::uint64_t began_monotonic_ns = 0;
    double probe_scale = 1;   // what probes took then, to what ProbeCost says of them; over 0
    std::vector<Call> calls;  // in the order in which they began; the first one is the outermost
};

// Parts add up: wall = on CPU + runnable + blocked. Of a goroutine's tree the wall alone is known: all of it counts as on CPU.
struct Times {
    std::uint64_t wall_ns = 0;
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t runnable_ns = 0;
    std::uint64_t blocked_ns = 0;
    std::uint64_t own_ns = 0;  // of the wall, in the function itself and in calls that are not watched
};

// Whether numbers and times make sense: parents come first, functions are of these, nothing ends before it begins.
[[nodiscard]] Status check(const Tree& tree, std::size_t functions);

// Of each call of a tree that check() accepts, net of the cost of its own probes and of those below it.
[[nodiscard]] std::vector<Times> net_times(const Tree& tree, const std::vector<Function>& functions);

}  // namespace lagtrap::calls
