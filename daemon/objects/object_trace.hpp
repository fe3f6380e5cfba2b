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
#include "daemon/unwinding/unwind_store.hpp"

namespace lagtrap::daemon {

struct ObjectRequest {
    ObjectWishes wishes;
    std::chrono::nanoseconds least{0};       // shorter uses that succeed are counted, not told
    std::chrono::nanoseconds length{0};      // 0: until the lines are unwanted
    double budget = 0.1;                     // of a CPU, for the probes
    std::uint64_t calls_per_second = 5'000;  // that are told
};

// ErrorKind::Invalid: what is missing or out of its range, and what is allowed.
[[nodiscard]] Result<ObjectRequest> parse_object_request(const boost::json::object& request);

// As trace_calls(); `tables` outlive it.
void trace_objects(const ObjectRequest& request, ProcessInspector& inspector, const UnwindStore& tables,
                   const std::function<CallCosts()>& costs, AnswerLines& answer, const std::atomic<bool>& stop);

}  // namespace lagtrap::daemon
