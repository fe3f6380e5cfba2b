// What the daemon answers to {"command":"functions"}: JSON objects, a line each. {"ok":true,"started_functions":...} once, then any
// number of "calls", "taken_out" and "more", and "ended_functions" last; instead of all of them {"ok":false,"error":...}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "calls/call_stream.hpp"
#include "calls/call_tree.hpp"
#include "core/result.hpp"

namespace lagtrap::calls {

// So many functions, or files, for this reason.
struct ReasonCount {
    std::string reason;
    std::uint64_t count = 0;
};

// How functions of one kind are watched, and why.
struct HookCount {
    std::string entry, exit;  // what is put there
    std::string reason;
    std::uint64_t functions = 0;
    std::uint64_t cost_ns = 0;  // of one call
};

struct FunctionsStarted {
    std::uint32_t pid = 0;
    std::string process;
    std::vector<Function> functions;            // that are watched, all of level 1
    std::vector<std::string> own_files;         // that have them
    std::vector<ReasonCount> system_files;      // of which none is watched
    std::vector<ReasonCount> system_functions;  // of own files
    std::uint64_t moved_in = 0, moved_out = 0;  // functions, by patterns
    std::vector<ReasonCount> refused;           // functions that cannot be watched
    std::uint64_t beyond_limit = 0;
    std::vector<HookCount> hooks;
    std::string attached_by;  // what the kernel offers for it
    std::uint64_t plan_ns = 0, attach_ns = 0;
    std::uint64_t window_ns = 0;  // of a standing trace: what is kept of the time before somebody asks; 0: it is none
    std::uint64_t from_ns = 0;    // monotonic: what ended since then is told and counted; 0: since it began
};

// A call that took the minimum. Times are monotonic.
struct TracedCall {
    std::uint32_t function = 0;
    std::uint32_t tid = 0;
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::uint64_t probes_ns = 0;   // of these, taken by probes
    std::uint64_t off_cpu_ns = 0;  // of these, blocked or waiting for a CPU
    bool left = false;             // by no instruction of its own
    std::string thread;            // its name
};

// All calls of one function together, those too that were shorter. Times without the probes'.
struct FunctionTotals {
    std::uint32_t function = 0;
    std::uint64_t calls = 0;
    std::uint64_t left = 0;
    std::uint64_t own_ns = 0;
    std::uint64_t longest_ns = 0;
    std::vector<std::uint32_t> path;  // of the longest call: its caller first
    std::uint64_t unbegun = 0;  // calls beside those, of which the runtime told the end alone: then there are no times
};

// What a language's runtime told in the whole.
struct RuntimeEnd {
    std::string language;
    std::uint64_t hits = 0;             // of its probes
    std::vector<ReasonCount> left_out;  // functions
    std::uint64_t watched_ns = 0;  // the probes were in; less than the trace took: the rest would have cost too much
    std::string advice;            // where it told nothing: what to do
};

struct FunctionsEnded {
    std::string reason;
    std::uint64_t length_ns = 0;
    std::uint64_t sent = 0;      // calls
    std::uint64_t not_sent = 0;  // for want of room
    std::uint64_t too_deep = 0;
    std::uint64_t bytes = 0;     // that `sent` took
    std::uint64_t least_ns = 0;  // the minimum as it was in the end: raised where too much came
    std::uint64_t detach_ns = 0;
    std::vector<FunctionTotals> totals;  // of functions that were called
    std::vector<RuntimeEnd> runtimes;
    std::uint64_t unnamed = 0;  // hits of functions of runtimes that have no number: too many, or without a name
};

[[nodiscard]] boost::json::object to_json(const FunctionsStarted& started);
[[nodiscard]] boost::json::object to_json(const std::vector<TracedCall>& calls);
[[nodiscard]] boost::json::object to_json(const FunctionsEnded& ended);

// One line of the answer; exactly one is there.
struct FunctionsMessage {
    std::optional<FunctionsStarted> started;
    std::optional<std::vector<TracedCall>> calls;
    std::optional<std::vector<TakenOut>> taken_out;
    std::optional<std::vector<Function>> more;  // functions that a runtime told of; their numbers go on
    std::optional<FunctionsEnded> ended;
};
// ErrorKind::Invalid: what the daemon refused, or it is no such line. Functions are not checked against those that are known.
[[nodiscard]] Result<FunctionsMessage> parse_functions_message(const std::string& line);

// The calls of each thread as trees: a call lies in the innermost one that was open as long as it. Runs of calls that others
// have no part in are trees of their own.
[[nodiscard]] std::vector<Tree> trees_of(std::vector<TracedCall> calls);
// Of each call of such a tree.
[[nodiscard]] std::vector<Times> times_of(const Tree& tree);

}  // namespace lagtrap::calls
