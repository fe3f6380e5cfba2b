// Runs one function trace for a client.
#pragma once

#include <atomic>
#include <functional>

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "daemon/calls/call_costs.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/functions/function_watch.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

// ErrorKind::Invalid: a field is missing or out of range; the message has the allowed values.
[[nodiscard]] Result<FunctionRequest> parse_function_request(const boost::json::object& request);

// See trace_calls().
void trace_functions(const FunctionRequest& request, ProcessInspector& inspector,
                     const std::function<CallCosts()>& costs, AnswerLines& answer,
                     const std::atomic<bool>& stop);

}  // namespace lagtrap::daemon
