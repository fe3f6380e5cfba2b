// Runs one trace of a process's objects for a client.
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
    std::chrono::nanoseconds min_duration{0};  // shorter uses that succeed are counted only
    std::chrono::nanoseconds length{0};        // 0: until the lines are unwanted
    double budget = 0.1;                       // for the probes, in CPUs
    std::uint64_t calls_per_second = 5'000;    // limit of reported calls
    // How long to wait for unwind tables before watching. Without them, stacks of creations end
    // early.
    std::chrono::milliseconds timeout{5'000};
};

// ErrorKind::Invalid: a field is missing or out of range; the message has the allowed values.
[[nodiscard]] Result<ObjectRequest> parse_object_request(const boost::json::object& request);

// See trace_calls(). `unwinder` must outlive the call.
void trace_objects(const ObjectRequest& request, ProcessInspector& inspector, Unwinder& unwinder,
                   const std::function<CallCosts()>& costs, AnswerLines& answer,
                   const std::atomic<bool>& stop);

}  // namespace lagtrap::daemon
