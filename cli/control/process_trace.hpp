// Shared by the commands that make the daemon trace a process: calls, functions, objects.
#pragma once

#include <functional>
#include <string>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"
#include "cli/control/control_client.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

struct ProcessTrace {
    const char* command = nullptr;
    const std::string& process;  // id or name
    const std::string& least;    // duration; empty for none
    const std::string& length;   // duration
    double budget_percent = 0;
};
// A request with the fields common to all of them. Fails if there is no such process, or for an
// invalid duration, naming its option.
[[nodiscard]] Result<boost::json::object> request_of_trace(const ProcessTrace& trace);
// Adds a duration to a request. Errors name the option.
[[nodiscard]] Status put_duration(boost::json::object& request, const char* field,
                                  const std::string& text, const char* option);

// Passes every line of the daemon's answer to `take` until the answer ends. The first interrupt
// asks the daemon to end it, and the daemon then sends its results so far. Returns errors of `take`
// and of the connection.
[[nodiscard]] Status each_line(DaemonLines& lines,
                               const std::function<Status(const std::string&)>& take);

// Message for an answer that ended without its last line.
inline constexpr const char* daemon_has_gone = "lagtrapd has gone; its probes went with it";

// Shows the answer to the request. `show` has show(line) and ended(). Returns the exit status.
template <typename Show>
[[nodiscard]] int show_trace(const std::string& socket, const boost::json::object& request,
                             Show& show, Console& console) {
    auto lines = DaemonLines::ask(socket, request);
    if (!lines) return console.fail(lines.error().message);
    const Status shown =
        each_line(*lines, [&show](const std::string& line) { return show.show(line); });
    if (!shown) return console.fail(shown.error().message);
    return show.ended() ? exit_done : console.fail(daemon_has_gone);
}

}  // namespace lagtrap::cli
