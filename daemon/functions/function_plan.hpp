// Selects the functions that a function trace of a running process watches. Before anything is
// attached, it sorts them into the application's and the system's (calls/function_sorting.hpp),
// then applies patterns.
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
    std::optional<uid_t> owner;  // as in TraceTarget
    // Regular expressions for names of functions or files; empty: no match. A function that matches
    // both is excluded.
    std::string include;  // watch these too, although they belong to the system
    std::string exclude;  // do not watch these, although they belong to the application
};

struct FunctionPlan {
    std::vector<CallFile> files;
    std::vector<PlannedFunction> functions;  // all at level 1
    std::vector<PlannedRuntime> runtimes;    // their functions are known once they are called
    std::vector<std::string> silent;         // runtimes without probes, and the reason
    calls::FunctionsStarted reported;        // without functions, hooks and times
};

// Errors: NotFound (no such process), Invalid (a regular expression), Unsupported (no function can
// be watched; the message has the reason and a remedy). Ends soon with an error once `given_up` is
// set.
[[nodiscard]] Result<FunctionPlan> plan_functions(const FunctionWishes& wishes,
                                                  ProcessInspector& inspector,
                                                  const std::atomic<bool>& given_up);

// How the functions are watched and why, most frequent first; runtimes follow.
[[nodiscard]] std::vector<calls::HookCount> hooks_of(const FunctionPlan& plan,
                                                     const CallCosts& costs);

// Cost of one call reported by a runtime.
[[nodiscard]] const calls::ProbeCost& runtime_cost(const CallCosts& costs);

}  // namespace lagtrap::daemon
