#include "daemon/daemon_requests.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/control/request_fields.hpp"
#include "daemon/status/limited_users.hpp"
#include "daemon/status/untrusted_parties.hpp"
#include "daemon/temporary/bundle_answer.hpp"
#include "daemon/temporary/temporary_settings.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::chrono::seconds usual_length{5};  // of a recording for a client

boost::json::object outcome(const Status& status) {
    return status ? boost::json::object{{"ok", true}} : refusal(status.error().message);
}

}  // namespace

Result<bool> DaemonRequests::stream(const boost::json::object& request, const Caller* only_of,
                                    std::shared_ptr<AnswerStream> answer) {
    const auto* const command = request.if_contains("command");
    if (command == nullptr) return false;
    if (*command == "record") {
        TRY_ASSIGN(const auto length, length_in(request));
        TRY(parts_.controller->record_for(std::move(answer), length.value_or(usual_length)));
        return true;
    }
    if (*command != "calls" && *command != "functions" && *command != "objects") return false;
    TRY(parts_.call_traces->begin(request, only_of, std::move(answer)));
    return true;
}

Result<bool> DaemonRequests::hand_over(const boost::json::object& request, const Caller& caller,
                                       int socket) {
    const auto* const command = request.if_contains("command");
    if (!parts_.temporary || command == nullptr || *command != "watch") return false;
    TRY_ASSIGN(const auto event, text_in(request, "event", temporary_event_limit_bytes));
    TRY(parts_.temporary->begin(event, caller, socket, parts_.settings, parts_.used_ppm()));
    return true;
}

ClientLink::Answer DaemonRequests::answer_client(const boost::json::object& request) {
    const auto* const command = request.if_contains("command");
    if (command != nullptr && *command == "bundle")
        return bundle_answer(parts_.controller->merges().last_bundle());
    for (const char* const known : {"status", "trigger", "finish"})
        if (command != nullptr && *command == known) return {answer(request)};
    return {refusal("unknown command; expected status, trigger, finish, bundle")};
}

boost::json::object DaemonRequests::status() const {
    auto report =
        status_report(*parts_.controller, *parts_.unwinder, *parts_.reporter, *parts_.keeper,
                      parts_.budgets->overhead(), parts_.facts, parts_.settings);
    add_functions(report, *parts_.functions);
    add_thresholds(report, parts_.thresholds->keeper());
    add_memory(report, parts_.budgets->memory());
    add_untrusted_parties(report, *parts_.unwinder, *parts_.control);
    add_inspections(
        report, parts_.unwinder->status(), parts_.options.inspectors->counts(),
        {parts_.mapped_files.left_out(), parts_.controller->monitor().copies_left_out()});
    report["temporary"] = parts_.temporary ? parts_.temporary->report() : boost::json::array();
    report["arming"] = nullptr;
    const EventMonitor& newest = applier_.newest_monitor();
    if (const auto progress = newest.progress(); progress.done < progress.of)
        report["arming"] = {{"done", progress.done}, {"of", progress.of}};
    report["processes_found"] = parts_.unwinder->status().scans > 0 && newest.copies_are_armed();
    add_limited_looks(report, parts_.reporter->limited_looks());
    add_watched_files(report, parts_.controller->monitor().watched_files());
    return report;
}

boost::json::object DaemonRequests::trigger(const boost::json::object& request) {
    const auto* const event = request.if_contains("event");
    if (!event || !event->is_string()) return refusal("\"trigger\" needs an \"event\"");
    const auto length = length_in(request);
    if (!length) return refusal(length.error().message);
    boost::json::object answer =
        outcome(parts_.controller->trigger(std::string(event->as_string()), *length));
    if (answer.at("ok").as_bool()) answer["session"] = parts_.controller->current_session();
    return answer;
}

boost::json::object DaemonRequests::change_recording(
    const boost::json::object& request, Status (CaptureController::*change)(const std::string&)) {
    const auto session = text_in(request, "session");
    if (!session) return refusal(session.error().message);
    return outcome((*parts_.controller.*change)(*session));
}

boost::json::object DaemonRequests::answer(const boost::json::object& request) {
    const auto* const name = request.if_contains("command");
    if (!name || !name->is_string()) return refusal("the request has no \"command\"");
    const std::string_view command(name->as_string());
    if (command == "status") return status();
    if (command == "trigger") return trigger(request);
    if (command == "finish") return change_recording(request, &CaptureController::finish);
    if (command == "approve") return change_recording(request, &CaptureController::approve);
    if (command == "decline") return change_recording(request, &CaptureController::decline);
    return refusal(
        "unknown command; expected status, trigger, record, watch, finish, approve, decline, "
        "calls, functions, objects");
}

}  // namespace lagtrap::daemon
