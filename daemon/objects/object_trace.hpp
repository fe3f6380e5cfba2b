// Objects of one process under watch for a client, from the request to its end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/calls/call_costs.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/objects/object_plan.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/unwinding/unwinder.hpp"

namespace lagtrap::daemon {

struct ObjectRequest {
    ObjectWishes wishes;
    std::chrono::nanoseconds least{0};       // shorter uses that succeed are counted, not told
    std::chrono::nanoseconds length{0};      // 0: until the lines are unwanted
    double budget = 0.1;                     // of a CPU, for the probes
    std::uint64_t calls_per_second = 5'000;  // that are told
    // For tables of the process, before the watch begins: until they are there stacks of creations end early.
    std::chrono::milliseconds patience{5'000};
};

// ErrorKind::Invalid: what is missing or out of its range, and what is allowed.
[[nodiscard]] Result<ObjectRequest> parse_object_request(const boost::json::object& request);

// As trace_calls(); `unwinder` outlives it.
void trace_objects(const ObjectRequest& request, ProcessInspector& inspector, Unwinder& unwinder,
                   const std::function<CallCosts()>& costs, AnswerLines& answer, const std::atomic<bool>& stop);

}  // namespace lagtrap::daemon
