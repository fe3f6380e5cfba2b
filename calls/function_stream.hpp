// The daemon's answer to {"command":"functions"}: JSON objects, one per line. First
// {"ok":true,"started_functions":...}, then any number of "calls", "detached" and "more", then
// "ended_functions". If the command fails, only {"ok":false,"error":...}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "calls/call_stream.hpp"
#include "calls/call_tree.hpp"
#include "core/result.hpp"

namespace lagtrap::calls {

// Number of functions or files for one reason.
struct ReasonCount {
    std::string reason;
    std::uint64_t count = 0;
};
// Counts one more for the reason.
void count_reason(std::vector<ReasonCount>& counts, std::string_view reason);

// How functions of one kind are watched, and why.
struct HookCount {
    std::string entry, exit;  // type of probe at entry and exit
    std::string reason;
    std::uint64_t functions = 0;
    std::uint64_t cost_ns = 0;  // per call
};

struct FunctionsStarted {
    std::uint32_t pid = 0;
    std::string process;
    std::vector<Function> functions;            // watched functions, all of level 1
    std::vector<std::string> own_files;         // files that contain them
    std::vector<ReasonCount> system_files;      // not watched
    std::vector<ReasonCount> system_functions;  // in own files, not watched
    std::uint64_t moved_in = 0, moved_out = 0;  // functions included and excluded by patterns
    std::vector<ReasonCount> refused;           // functions that cannot be watched
    std::uint64_t beyond_limit = 0;
    std::vector<HookCount> hooks;
    std::string attached_by;  // kernel mechanism used
    std::uint64_t plan_ns = 0, attach_ns = 0;
    // Of a standing trace: how much history it keeps for later requests; 0 if it is not one.
    std::uint64_t window_ns = 0;
    // CLOCK_MONOTONIC: calls that ended since then are sent and counted; 0 for the trace's begin.
    std::uint64_t from_ns = 0;
};

// A call at least as long as the minimum. Times are CLOCK_MONOTONIC.
struct TracedCall {
    std::uint32_t function = 0;
    std::uint32_t tid = 0;
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::uint64_t probes_ns = 0;   // part spent in probes
    std::uint64_t off_cpu_ns = 0;  // part blocked or waiting for a CPU
    bool left = false;             // by an exception, longjmp and the like
    std::string thread;            // name of the thread
};

// All calls of one function, including those below the minimum. Times exclude probe overhead.
struct FunctionTotals {
    std::uint32_t function = 0;
    std::uint64_t calls = 0;
    std::uint64_t left = 0;
    std::uint64_t own_ns = 0;
    std::uint64_t longest_ns = 0;
    std::vector<std::uint32_t> path;  // call path to the longest call, starting with its caller
    // further calls for which the runtime reported only the end; they have no times
    std::uint64_t unbegun = 0;
};

// Totals reported by a language runtime.
struct RuntimeEnd {
    std::string language;
    std::uint64_t hits = 0;             // probe hits
    std::vector<ReasonCount> left_out;  // number of functions
    // How long the probes were attached; less than the trace's length if more would have cost too
    // much.
    std::uint64_t watched_ns = 0;
    std::string advice;  // what to do if it reported nothing
};

struct FunctionsEnded {
    std::string reason;
    std::uint64_t length_ns = 0;
    std::uint64_t sent = 0;      // number of calls
    std::uint64_t not_sent = 0;  // for lack of room
    std::uint64_t too_deep = 0;
    std::uint64_t bytes = 0;   // size of the `sent` calls
    std::uint64_t min_ns = 0;  // final minimum; raised if there were too many calls
    std::uint64_t detach_ns = 0;
    std::vector<FunctionTotals> totals;  // only of functions that were called
    std::vector<RuntimeEnd> runtimes;
    // hits in runtime functions without a number: too many functions, or unnamed
    std::uint64_t unnamed = 0;
};

[[nodiscard]] boost::json::object to_json(const FunctionsStarted& started);
[[nodiscard]] boost::json::object to_json(const std::vector<TracedCall>& calls);
[[nodiscard]] boost::json::object to_json(const FunctionsEnded& ended);

// One line of the answer; exactly one member is set.
struct FunctionsMessage {
    std::optional<FunctionsStarted> started;
    std::optional<std::vector<TracedCall>> calls;
    std::optional<std::vector<DetachedFunction>> detached;
    // functions that a runtime reported; their numbers continue
    std::optional<std::vector<Function>> more;
    std::optional<FunctionsEnded> ended;
};
// ErrorKind::Invalid if the daemon reports an error, or if it is not such a line. Does not check
// that function numbers are known.
[[nodiscard]] Result<FunctionsMessage> parse_functions_message(const std::string& line);

// Arranges the calls of each thread into trees: a call belongs to the innermost call that covers
// its whole time. Each outermost call starts a tree.
[[nodiscard]] std::vector<Tree> trees_of(std::vector<TracedCall> calls);
// Times of each call of such a tree.
[[nodiscard]] std::vector<Times> times_of(const Tree& tree);

}  // namespace lagtrap::calls
