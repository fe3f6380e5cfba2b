// One trace of calls, from the request to its end: finds the functions, watches them, tells the trees, takes the probes
// out.
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
    bool with_probes = false;            // `least` is meant with what the probes take
    std::chrono::nanoseconds least{0};   // shorter calls of the function are not told
    std::uint64_t count = 0;             // trees to tell; 0: any number
    std::chrono::nanoseconds length{0};  // 0: until the client goes away
    double budget = 0.1;                 // of a CPU, for the probes
};

// ErrorKind::Invalid: what is missing or out of its range, and what is allowed.
[[nodiscard]] Result<CallRequest> parse_call_request(const boost::json::object& request);

// On the calling thread; returns when all probes are out. Ends early once `stop` is set or the client disconnected. `meters` tell what
// probes take, at the begin and meanwhile.
void trace_calls(const CallRequest& request, ProcessInspector& inspector, CostMeters& meters, AnswerLines& answer,
                 const std::atomic<bool>& stop);

}  // namespace lagtrap::daemon
