#include "cli/control/process_trace.hpp"

#include <csignal>

#include "calls/call_stream.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/control/process_name.hpp"
#include "core/duration.hpp"

namespace lagtrap::cli {

Result<boost::json::object> request_of_trace(const ProcessTrace& trace) {
    TRY_ASSIGN(const std::uint32_t pid, find_process(trace.process));
    boost::json::object request{
        {"command", trace.command},
        {"pid", pid},
        {"budget_permille", static_cast<std::int64_t>(trace.budget_percent * 10)}};
    if (!trace.least.empty()) TRY(put_duration(request, "least_ns", trace.least, "--min"));
    TRY(put_duration(request, "length_ns", trace.length, "--for"));
    return request;
}

Status put_duration(boost::json::object& request, const char* field, const std::string& text,
                    const char* option) {
    const auto duration = parse_duration(text);
    if (!duration) return duration.error().within(option);
    request[field] = duration->count();
    return success();
}

Status each_line(DaemonLines& lines, const std::function<Status(const std::string&)>& take) {
    note_interrupts();
    bool asked_to_end = false;
    const volatile std::sig_atomic_t never = 0;
    for (;;) {
        TRY_ASSIGN(const auto line,
                   lines.next(calls::line_limit_bytes, asked_to_end ? never : interrupted));
        if (line) {
            TRY(take(*line));
            continue;
        }
        if (interrupted == 0 || asked_to_end) return success();
        asked_to_end = true;
        TRY(lines.say_enough());
    }
}

}  // namespace lagtrap::cli
