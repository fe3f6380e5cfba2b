#include "trace/logs/session.hpp"

#include <array>
#include <utility>

#include <boost/json.hpp>

#include "bpf/records.h"
#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/logs/json_fields.hpp"
#include "trace/logs/session_id.hpp"

namespace lagtrap::trace {
namespace {

namespace json = boost::json;

constexpr const char* file_name = "session.json";
constexpr std::uint64_t file_limit_bytes = 1 << 20;
constexpr std::uint32_t cpu_limit = 8192;

const char* reason_name(TriggerReason reason) {
    switch (reason) {
        case TriggerReason::Deadline: return "deadline";
        case TriggerReason::End: return "end";
        case TriggerReason::Manual: break;
    }
    return "manual";
}

constexpr auto end_names =
    std::to_array<std::pair<RecordingEnd, std::string_view>>({{RecordingEnd::Length, "length"},
                                                              {RecordingEnd::RunEnd, "run-end"},
                                                              {RecordingEnd::RunGone, "run-gone"},
                                                              {RecordingEnd::Limit, "limit"},
                                                              {RecordingEnd::Size, "size"}});

// Boost.JSON writes string bytes unchanged, and strings from other processes may contain any.
json::string text(const std::string& raw) { return json::string(printable(raw)); }

json::object to_json(const ClockSnapshot& clocks) {
    return {{"monotonic_ns", clocks.monotonic_ns},
            {"boottime_ns", clocks.boottime_ns},
            {"realtime_ns", clocks.realtime_ns}};
}

json::array to_json(const std::vector<SessionEvent>& events) {
    json::array list;
    for (const auto& event : events) {
        json::array stages;
        for (const auto& stage : event.stages) stages.emplace_back(text(stage));
        json::array markers;
        for (const auto& marker : event.markers) markers.emplace_back(text(marker));
        list.push_back(json::object{{"name", text(event.name)},
                                    {"threshold_ns", event.threshold_ns},
                                    {"trace_length_ns", event.trace_length_ns},
                                    {"trace_length_limit_ns", event.trace_length_limit_ns},
                                    {"stages", std::move(stages)},
                                    {"program", text(event.program)},
                                    {"markers", std::move(markers)}});
    }
    return list;
}

json::object to_json(const SessionTrigger& trigger) {
    return {{"reason", reason_name(trigger.reason)},
            {"event", trigger.event},
            {"pid", trigger.pid},
            {"tid", trigger.tid},
            {"comm", text(trigger.comm)},
            {"begin_ns", trigger.begin_ns},
            {"breach_ns", trigger.breach_ns},
            {"reported_ns", trigger.reported_ns}};
}

json::object to_json(const SessionQuality& quality) {
    json::array omitted;
    for (std::size_t i = 0; i < std::min(quality.omitted.size(), omitted_limit); ++i)
        omitted.emplace_back(text(quality.omitted[i]));
    return {{"samples_taken", quality.samples_taken},
            {"samples_lost", quality.samples_lost},
            {"switches_lost", quality.switches_lost},
            {"wakings_lost", quality.wakings_lost},
            {"contexts_lost", quality.contexts_lost},
            {"contexts_unreadable", quality.contexts_unreadable},
            {"stacks_lost", quality.stacks_lost},
            {"stack_copies", quality.stack_copies},
            {"stack_copies_left_out", quality.stack_copies_left_out},
            {"runs_lost", quality.runs_lost},
            {"task_changes_lost", quality.task_changes_lost},
            {"code_files_lost", quality.code_files_lost},
            {"bpf_run_time_ns", quality.bpf_run_time_ns},
            {"daemon_cpu_ns", quality.daemon_cpu_ns},
            {"truncated_by_size", quality.truncated_by_size},
            {"omitted", std::move(omitted)}};
}

json::array to_json(const ContainerNames& containers) {
    constexpr std::size_t longest = 256;  // so that all of them fit into the file
    const auto shortened = [](const std::string& raw) { return text(raw.substr(0, longest)); };
    json::array list;
    for (const auto& [id, container] : containers) {
        if (list.size() >= session_containers_limit) break;
        list.push_back(json::object{{"id", shortened(id)},
                                    {"name", shortened(container.name)},
                                    {"image", shortened(container.image)},
                                    {"pod", shortened(container.pod)},
                                    {"namespace", shortened(container.pod_namespace)}});
    }
    return list;
}

void read_clocks(JsonFields fields, ClockSnapshot& clocks) {
    fields.number("monotonic_ns", clocks.monotonic_ns);
    fields.number("boottime_ns", clocks.boottime_ns);
    fields.number("realtime_ns", clocks.realtime_ns);
}

void read_event(JsonFields fields, SessionEvent& event, std::optional<Error>& error) {
    fields.string("name", event.name);
    fields.number("threshold_ns", event.threshold_ns);
    fields.number("trace_length_ns", event.trace_length_ns);
    if (fields.has("trace_length_limit_ns"))
        fields.number("trace_length_limit_ns",
                      event.trace_length_limit_ns);  // older captures lack it
    fields.string("program", event.program);
    const auto add_text_to = [&error](std::vector<std::string>& texts) {
        return [&](const json::value& value, const std::string& where) {
            if (!value.is_string() || value.get_string().size() > JsonFields::text_limit_bytes)
                error = make_error(ErrorKind::Invalid, "\"" + where + "\" is not a short text");
            else
                texts.emplace_back(value.get_string().data(), value.get_string().size());
        };
    };
    fields.list("stages", LAGTRAP_MAX_STAGES, add_text_to(event.stages));
    if (fields.has("markers"))
        fields.list("markers", LAGTRAP_MAX_STAGES + 2, add_text_to(event.markers));
}

void read_trigger(JsonFields fields, SessionTrigger& trigger) {
    std::string reason;
    fields.string("reason", reason);
    if (reason == "deadline") {
        trigger.reason = TriggerReason::Deadline;
    } else if (reason == "end") {
        trigger.reason = TriggerReason::End;
    } else if (reason == "manual") {
        trigger.reason = TriggerReason::Manual;
    } else {
        fields.fail("reason",
                    "is \"" + printable(reason) + "\"; allowed are deadline, end and manual");
    }
    fields.number("event", trigger.event);
    fields.number("pid", trigger.pid);
    fields.number("tid", trigger.tid);
    fields.string("comm", trigger.comm);
    fields.number("begin_ns", trigger.begin_ns);
    fields.number("breach_ns", trigger.breach_ns);
    fields.number("reported_ns", trigger.reported_ns);
}

void read_quality(JsonFields fields, SessionQuality& quality, std::optional<Error>& error) {
    fields.number("samples_taken", quality.samples_taken);
    fields.number("samples_lost", quality.samples_lost);
    fields.number("switches_lost", quality.switches_lost);
    fields.number("wakings_lost", quality.wakings_lost);
    fields.number("stacks_lost", quality.stacks_lost);
    fields.number("runs_lost", quality.runs_lost);
    fields.number("task_changes_lost", quality.task_changes_lost);
    if (fields.has("code_files_lost"))
        fields.number("code_files_lost", quality.code_files_lost);  // older captures lack it
    if (fields.has("contexts_lost")) {                              // older captures lack it
        fields.number("contexts_lost", quality.contexts_lost);
        fields.number("contexts_unreadable", quality.contexts_unreadable);
    }
    fields.number("bpf_run_time_ns", quality.bpf_run_time_ns);
    fields.number("daemon_cpu_ns", quality.daemon_cpu_ns);
    fields.flag("truncated_by_size", quality.truncated_by_size);
    if (fields.has("stack_copies")) {  // older captures lack it
        fields.number("stack_copies", quality.stack_copies);
        fields.number("stack_copies_left_out", quality.stack_copies_left_out);
    }
    const char* const omitted = fields.has("omitted") ? "omitted" : "shed";
    if (!fields.has(omitted)) return;  // older captures lack it, or call it "shed"
    fields.list(omitted, omitted_limit, [&](const json::value& value, const std::string& where) {
        if (!value.is_string() || value.get_string().size() > JsonFields::text_limit_bytes)
            error = make_error(ErrorKind::Invalid, "\"" + where + "\" is not a short text");
        else
            quality.omitted.emplace_back(value.get_string().data(), value.get_string().size());
    });
}

// Older captures lack both.
void read_end(JsonFields& fields, Session& session) {
    if (fields.has("longest_length_ns"))
        fields.number("longest_length_ns", session.longest_length_ns);
    if (!fields.has("end")) return;
    std::string end;
    fields.string("end", end);
    session.end = recording_end_named(end);
}

// Older captures lack them.
void read_containers(JsonFields& fields, ContainerNames& containers, std::optional<Error>& error) {
    if (!fields.has("containers")) return;
    fields.list("containers", session_containers_limit,
                [&](const json::value& value, const std::string& where) {
                    if (!value.is_object()) {
                        error =
                            make_error(ErrorKind::Invalid, "\"" + where + "\" is not an object");
                        return;
                    }
                    JsonFields one(value.get_object(), where + ".", error);
                    std::string id;
                    one.string("id", id);
                    ContainerName& container = containers[id];
                    one.string("name", container.name);
                    one.string("image", container.image);
                    one.string("pod", container.pod);
                    one.string("namespace", container.pod_namespace);
                });
}

void read_all_fields(JsonFields fields, Session& session, std::optional<Error>& error) {
    fields.string("id", session.id);
    if (!is_session_id(session.id)) fields.fail("id", "is not a UUID");
    fields.string("lagtrap_version", session.lagtrap_version);
    if (fields.has("boot_id")) fields.string("boot_id", session.boot_id);  // older captures lack it
    fields.object("clocks", [&](const JsonFields& inner) { read_clocks(inner, session.clocks); });
    fields.number("started_ns", session.started_ns);
    fields.number("ended_ns", session.ended_ns);
    if (session.ended_ns != 0 && session.ended_ns < session.started_ns)
        fields.fail("ended_ns", "lies before \"started_ns\"");
    // Older captures lack both.
    if (fields.has("history_length_ns"))
        fields.number("history_length_ns", session.history_length_ns);
    if (fields.has("history_interval_ns"))
        fields.number("history_interval_ns", session.history_interval_ns);
    fields.number("planned_length_ns", session.planned_length_ns);
    read_end(fields, session);
    fields.number("sample_interval_ns", session.sample_interval_ns);
    if (session.sample_interval_ns == 0) fields.fail("sample_interval_ns", "is 0");
    fields.number("cpu_count", session.cpu_count, cpu_limit);
    fields.string("stack_method", session.stack_method);
    fields.list(
        "events", LAGTRAP_MAX_EVENTS, [&](const json::value& value, const std::string& where) {
            if (!value.is_object()) {
                error = make_error(ErrorKind::Invalid, "\"" + where + "\" is not an object");
                return;
            }
            session.events.emplace_back();
            read_event(JsonFields(value.get_object(), where + ".", error), session.events.back(),
                       error);
        });
    fields.object("trigger",
                  [&](const JsonFields& inner) { read_trigger(inner, session.trigger); });
    if (session.trigger.event >= session.events.size() && !session.events.empty())
        fields.fail("trigger.event", "is no index into \"events\"");
    fields.object("quality",
                  [&](const JsonFields& inner) { read_quality(inner, session.quality, error); });
    read_containers(fields, session.containers, error);
    fields.flag("finished", session.finished);
}

}  // namespace

std::string_view recording_end_name(RecordingEnd end) {
    for (const auto& [known, name] : end_names)
        if (known == end) return name;
    return {};
}

RecordingEnd recording_end_named(std::string_view name) {
    for (const auto& [end, known] : end_names)
        if (known == name) return end;
    return RecordingEnd::Unknown;
}

std::string running_boot_id(const std::filesystem::path& proc_root) {
    constexpr std::uint64_t boot_id_limit_bytes = 64;
    const auto content = read_file(proc_root / "sys/kernel/random/boot_id", boot_id_limit_bytes);
    return content ? printable(content->substr(0, content->find('\n'))) : std::string();
}

Status write_session(const std::filesystem::path& directory, const Session& session) {
    const json::object object{{"id", text(session.id)},
                              {"lagtrap_version", text(session.lagtrap_version)},
                              {"boot_id", text(session.boot_id)},
                              {"clocks", to_json(session.clocks)},
                              {"started_ns", session.started_ns},
                              {"ended_ns", session.ended_ns},
                              {"history_length_ns", session.history_length_ns},
                              {"history_interval_ns", session.history_interval_ns},
                              {"planned_length_ns", session.planned_length_ns},
                              {"longest_length_ns", session.longest_length_ns},
                              {"end", recording_end_name(session.end)},
                              {"sample_interval_ns", session.sample_interval_ns},
                              {"cpu_count", session.cpu_count},
                              {"stack_method", text(session.stack_method)},
                              {"events", to_json(session.events)},
                              {"trigger", to_json(session.trigger)},
                              {"quality", to_json(session.quality)},
                              {"containers", to_json(session.containers)},
                              {"finished", session.finished}};
    return write_file_durably(directory / file_name, json::serialize(object) + "\n", 0640);
}

Result<Session> read_session(const std::filesystem::path& directory) {
    const auto path = directory / file_name;
    TRY_ASSIGN(const std::string content, read_file(path, file_limit_bytes));
    json::error_code code;
    const json::value value = json::parse(content, code);
    if (code)
        return make_error(ErrorKind::Invalid, path.string() + ": not JSON: " + code.message());
    if (!value.is_object())
        return make_error(ErrorKind::Invalid, path.string() + ": not a JSON object");
    Session session;
    std::optional<Error> error;
    read_all_fields(JsonFields(value.get_object(), "", error), session, error);
    if (error) return error->within(path.string());
    return session;
}

}  // namespace lagtrap::trace
