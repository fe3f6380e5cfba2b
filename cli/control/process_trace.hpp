// What the commands share that have the daemon trace a process: calls, functions, objects.
#pragma once

#include <functional>
#include <string>

#include <boost/json/object.hpp>

#include "cli/control/control_client.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

struct ProcessTrace {
    const char* command = nullptr;
    const std::string& process;  // a number or a name
    const std::string& least;    // a duration; empty: none
    const std::string& length;   // a duration
    double budget_percent = 0;
};
// The request with the fields that all of them have. Errors: no such process; a wrong duration, with its option.
[[nodiscard]] Result<boost::json::object> request_of_trace(const ProcessTrace& trace);
// Adds a duration to a request. Errors name the option.
[[nodiscard]] Status put_duration(boost::json::object& request, const char* field, const std::string& text,
                                  const char* option);

// Feeds every line of the daemon's answer to `take` until it ends. The first interrupt asks the daemon to end it: what was seen
// until then is told at the end. Errors: those of `take`, and of the connection.
[[nodiscard]] Status each_line(DaemonLines& lines, const std::function<Status(const std::string&)>& take);

// The answer is over, and its last line has not come.
inline constexpr const char* daemon_has_gone = "lagtrapd has gone; its probes went with it";

}  // namespace lagtrap::cli
