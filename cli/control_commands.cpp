#include <chrono>
#include <thread>

#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "cli/control/control_client.hpp"
#include "cli/status/metrics_text.hpp"
#include "cli/status/status_text.hpp"
#include "core/files.hpp"

namespace lagtrap::cli {

namespace {

int ask(const ControlOptions& options, const boost::json::object& request, const std::string& done,
        Console& console) {
    const auto answer = ask_daemon(options.socket, request);
    if (!answer) return console.fail(answer.error().message);
    if (options.json) {
        console.out << boost::json::serialize(*answer) << "\n";
    } else {
        console.out << done << "\n";
    }
    return exit_done;
}

constexpr auto look_interval = std::chrono::milliseconds(200);

// Recordings that failed in the daemon since it started.
std::uint64_t failures_of(const boost::json::object& status) {
    const auto& captures = status.at("captures").as_object();
    return captures.at("failed").to_number<std::uint64_t>() +
           captures.at("merges_failed").to_number<std::uint64_t>() +
           captures.at("set_aside").to_number<std::uint64_t>();
}

std::uint64_t done_of(const boost::json::object& status) {
    return status.at("captures").as_object().at("done").to_number<std::uint64_t>();
}

// The recording has ended, and no bundle is being made.
bool is_at_rest(const boost::json::object& status) {
    return status.at("capture").is_null() &&
           status.at("captures").as_object().at("waiting").to_number<std::uint64_t>() == 0;
}

bool is_last_bundle(const boost::json::object& status, const std::string& session) {
    const auto* const last = status.at("last_bundle").if_object();
    return last != nullptr && last->at("session").as_string() == session;
}

// Session id of a recording whose bundle is complete.
Result<std::string> record(const ControlOptions& options) {
    TRY_ASSIGN(const auto before, ask_daemon(options.socket, {{"command", "status"}}));
    TRY_ASSIGN(const auto begun,
               ask_daemon(options.socket, {{"command", "trigger"}, {"event", options.event}}));
    const auto* const reported = begun.if_contains("session");
    if (reported == nullptr)
        return make_error(ErrorKind::Unsupported,
                          "lagtrapd is older than this command; restart it");
    const std::string session(reported->as_string());
    for (;; std::this_thread::sleep_for(look_interval)) {
        TRY_ASSIGN(const auto status, ask_daemon(options.socket, {{"command", "status"}}));
        if (is_last_bundle(status, session)) return session;
        if (!is_at_rest(status)) continue;
        const bool failed = failures_of(status) > failures_of(before);
        // Another recording's bundle may have followed between two checks.
        if (!failed && done_of(status) > done_of(before)) return session;
        if (failed)
            return make_error(
                ErrorKind::System,
                "the recording failed; see the daemon's log (journalctl -u lagtrapd)");
    }
}

int record_and_wait(const ControlOptions& options, Console& console) {
    const auto session = record(options);
    if (!session) return console.fail(session.error().message);
    console.out << (options.json
                        ? boost::json::serialize(boost::json::object{{"session", *session}})
                        : *session)
                << "\n";
    return exit_done;
}

}  // namespace

int show_status(const ControlOptions& options, Console& console) {
    const auto answer = ask_daemon(options.socket, {{"command", "status"}});
    if (!answer) return console.fail(answer.error().message);
    console.out << (options.json ? boost::json::serialize(*answer) + "\n"
                                 : status_text(*answer, console.paint));
    return exit_done;
}

int show_metrics(const ControlOptions& options, Console& console) {
    const auto answer = ask_daemon(options.socket, {{"command", "status"}});
    if (!answer) return console.fail(answer.error().message);
    const std::string text =
        options.json ? boost::json::serialize(*answer) + "\n" : metrics_text(*answer);
    if (!options.output.empty()) {
        const auto written = write_file_durably(options.output, text);
        return written ? exit_done : console.fail(written.error().message);
    }
    console.out << text;
    console.out.flush();
    return console.out ? exit_done : console.fail("cannot write to standard output");
}

int trigger_recording(const ControlOptions& options, Console& console) {
    if (options.wait) return record_and_wait(options, console);
    return ask(options, {{"command", "trigger"}, {"event", options.event}},
               "recording for " + options.event + "; \"lagtrap status\" shows when it is done",
               console);
}

int approve_recording(const ControlOptions& options, Console& console) {
    return ask(options, {{"command", "approve"}}, "approved: the recording is kept", console);
}

int decline_recording(const ControlOptions& options, Console& console) {
    return ask(options, {{"command", "decline"}}, "declined: the recording is discarded", console);
}

}  // namespace lagtrap::cli
