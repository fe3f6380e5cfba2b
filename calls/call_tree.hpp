// One call of a function with all watched calls below it: the tree as recorded, and its times
// without probe overhead.
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

// Overhead that probes add to one call of a function, measured on this machine.
struct ProbeCost {
    std::uint64_t inside_ns = 0;  // between the time stamps of its begin and end
    std::uint64_t around_ns = 0;  // before and after them; counts for the caller
};

struct Function {
    std::string name;
    std::string module;       // path of the file that contains it
    std::uint32_t level = 0;  // 0: the traced function; 1: functions it calls, ...
    bool seen = false;        // found by observing indirect calls, not by reading the code
    ProbeCost cost;
    std::uint64_t entry = 0;  // file offset of its first instruction
    std::string source;       // path of its source file; empty if unknown
    std::uint32_t line = 0;   // where the function begins in the source file; 0 if unknown
};

enum class CallEnd : std::uint8_t {
    Returned,
    TailCall,   // another function replaced it
    Left,       // by an exception, longjmp or stack switch; its end is the latest possible time
    ThreadEnd,  // the thread ended or executed another program, or the goroutine ended
};

// "returned", "tail call", "left", "thread ended".
[[nodiscard]] const char* name_of(CallEnd end);
[[nodiscard]] std::optional<CallEnd> call_end_named(std::string_view name);

inline constexpr std::uint32_t no_parent = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::size_t max_nodes = 1 << 16;

struct Call {
    std::uint32_t function = 0;
    std::uint32_t parent = no_parent;  // index of the caller, which is lower than the call's own
    std::uint64_t begin_ns = 0;        // since the tree's begin; so is end_ns
    std::uint64_t end_ns = 0;
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t runnable_ns = 0;  // waiting for a CPU
    // calls below it that were only counted, because the tree was full
    std::uint32_t left_out = 0;
    std::uint64_t left_out_cost_ns = 0;  // of their probes
    CallEnd end = CallEnd::Returned;
};

struct Tree {
    std::uint32_t tid = 0;
    std::string thread;  // name of the thread
    std::uint64_t goroutine =
        // In Go: number of the goroutine the tree belongs to, which began on that thread; 0 if it
        // belongs to the thread.
        0;
    std::uint64_t began_realtime_ns = 0;
    std::uint64_t began_monotonic_ns = 0;
    double probe_scale = 1;   // actual probe overhead relative to ProbeCost; greater than 0
    std::vector<Call> calls;  // by begin; the first is the outermost
};

// wall = on CPU + runnable + blocked. Only wall is known for a goroutine's tree; all of it counts
// as on CPU.
struct Times {
    std::uint64_t wall_ns = 0;
    std::uint64_t on_cpu_ns = 0;
    std::uint64_t runnable_ns = 0;
    std::uint64_t blocked_ns = 0;
    std::uint64_t own_ns = 0;  // part of wall_ns in the function itself and in unwatched calls
};

// Checks that numbers and times are consistent: parents precede children, function numbers are
// below `functions`, nothing ends before it begins. ErrorKind::Invalid otherwise.
[[nodiscard]] Status check(const Tree& tree, std::size_t functions);

// Times of each call of a tree that check() accepts, without the overhead of its own probes and
// those below it.
[[nodiscard]] std::vector<Times> net_times(const Tree& tree,
                                           const std::vector<Function>& functions);

}  // namespace lagtrap::calls
