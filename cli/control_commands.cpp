#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "cli/metrics_text.hpp"
#include "cli/status_text.hpp"
#include "core/files.hpp"

namespace lagtrap::cli {

namespace {

int ask(const ControlOptions& options, const boost::json::object& request, const std::string& done, Console& console) {
    const auto answer = ask_daemon(options.socket, request);
    if (!answer) return console.fail(answer.error().message);
    if (options.json) {
        console.out << boost::json::serialize(*answer) << "\n";
    } else {
        console.out << done << "\n";
    }
    return exit_done;
}

}  // namespace

int show_status(const ControlOptions& options, Console& console) {
    const auto answer = ask_daemon(options.socket, {{"command", "status"}});
    if (!answer) return console.fail(answer.error().message);
    console.out << (options.json ? boost::json::serialize(*answer) + "\n" : status_text(*answer, console.paint));
    return exit_done;
}

int show_metrics(const ControlOptions& options, Console& console) {
    const auto answer = ask_daemon(options.socket, {{"command", "status"}});
    if (!answer) return console.fail(answer.error().message);
    const std::string text = options.json ? boost::json::serialize(*answer) + "\n" : metrics_text(*answer);
    if (!options.output.empty()) {
        const auto written = write_file_durably(options.output, text);
        return written ? exit_done : console.fail(written.error().message);
    }
    console.out << text;
    console.out.flush();
    return console.out ? exit_done : console.fail("writing to standard output failed");
}

int trigger_recording(const ControlOptions& options, Console& console) {
    return ask(options, {{"command", "trigger"}, {"event", options.event}},
               "recording for " + options.event + "; \"lagtrap status\" shows when it is done", console);
}

int approve_recording(const ControlOptions& options, Console& console) {
    return ask(options, {{"command", "approve"}}, "approved: the recording begins", console);
}

int decline_recording(const ControlOptions& options, Console& console) {
    return ask(options, {{"command", "decline"}}, "declined: nothing is recorded", console);
}

}  // namespace lagtrap::cli
