// Runs one call trace: finds and watches the functions, sends the trees to the client, detaches the
// probes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/calls/call_plan.hpp"
#include "daemon/calls/cost_meter.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

struct CallRequest {
    CallWishes wishes;
    bool with_probes = false;                  // `min_duration` includes the cost of probes
    std::chrono::nanoseconds min_duration{0};  // shorter calls of the function are dropped
    std::uint64_t count = 0;                   // number of trees to send; 0: no limit
    std::chrono::nanoseconds length{0};        // 0: until the client disconnects
    double budget = 0.1;                       // for the probes, in CPUs
};

// ErrorKind::Invalid: a field is missing or out of range; the message has the allowed values.
[[nodiscard]] Result<CallRequest> parse_call_request(const boost::json::object& request);

// Runs on the calling thread and returns when all probes are detached. Ends early if `stop` is set
// or the client disconnects. `meters` supply the probe costs, at the start and while it runs.
void trace_calls(const CallRequest& request, ProcessInspector& inspector, CostMeters& meters,
                 AnswerLines& answer, const std::atomic<bool>& stop);

}  // namespace lagtrap::daemon
