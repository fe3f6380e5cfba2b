// Which functions of a running process a trace of functions watches: sorted into the application's own and the system's
// before anything is attached (calls/function_sorting.hpp), then by patterns.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "calls/function_stream.hpp"
#include "core/result.hpp"
#include "daemon/calls/call_costs.hpp"
#include "daemon/calls/call_plan.hpp"
#include "daemon/functions/runtime_plan.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

struct FunctionWishes {
    std::uint32_t pid = 0;
    std::optional<uid_t> owner;  // as TraceTarget has it
    // Regular expressions of names of functions or files; empty: none. What both match is left out.
    std::string include;  // watched too, though they are the system's
    std::string exclude;  // not watched, though they are the application's own
};

struct FunctionPlan {
    std::vector<CallFile> files;
    std::vector<PlannedFunction> functions;  // all of level 1
    std::vector<PlannedRuntime> runtimes;    // which tell of others, that are known when they are called
    std::vector<std::string> silent;         // runtimes that tell nothing, and why
    calls::FunctionsStarted told;            // without functions, hooks and times
};

// Errors: NotFound: no such process; Invalid: a regular expression; Unsupported: there is no function to watch, with the
// reason and what to do. Ends soon once `given_up` is set.
[[nodiscard]] Result<FunctionPlan> plan_functions(const FunctionWishes& wishes, ProcessInspector& inspector,
                                                  const std::atomic<bool>& given_up);

// How the functions are watched, most first, and why; then what runtimes tell.
[[nodiscard]] std::vector<calls::HookCount> hooks_of(const FunctionPlan& plan, const CallCosts& costs);

// Of one call that a runtime tells of.
[[nodiscard]] const calls::ProbeCost& runtime_cost(const CallCosts& costs);

}  // namespace lagtrap::daemon
