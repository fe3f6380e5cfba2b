// Reads an untrusted system file; every value is checked.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <pugixml.hpp>

#include "bpf/records.h"
#include "trace/logs/session_id.hpp"
#include "trace/system_file/checked_attributes.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::size_t file_limit_bytes = 16 << 20;
constexpr std::size_t element_limit = 1'000'000;  // limits the parser's memory use
constexpr std::size_t list_limit = 100'000;
constexpr std::size_t stops_limit = 1000;  // writers use at most 20

void read_machine(CheckedAttributes machine, SystemFile& file) {
    machine.text("host", file.host);
    machine.text("id", file.machine_id);
    machine.text("os", file.os_name);
    machine.text("kernel", file.kernel_release);
    machine.text("architecture", file.architecture);
    machine.number("cpus", file.cpu_count);
    machine.text("cpu-model", file.cpu_model);
    machine.number("memory-bytes", file.memory_bytes);
}

void read_quality(CheckedAttributes node, SystemFile& file) {
    SessionQuality& quality = file.quality;
    node.number("samples-taken", quality.samples_taken);
    node.number("samples-lost", quality.samples_lost);
    node.number("switches-lost", quality.switches_lost);
    node.number("wakings-lost", quality.wakings_lost);
    if (node.has("contexts-lost")) node.number("contexts-lost", quality.contexts_lost);
    if (node.has("contexts-unreadable"))
        node.number("contexts-unreadable", quality.contexts_unreadable);
    node.number("stacks-lost", quality.stacks_lost);
    if (node.has("stack-copies")) node.number("stack-copies", quality.stack_copies);
    if (node.has("stack-copies-left-out"))
        node.number("stack-copies-left-out", quality.stack_copies_left_out);
    node.number("runs-lost", quality.runs_lost);
    node.number("task-changes-lost", quality.task_changes_lost);
    // Newer than version 1.
    if (node.has("code-files-lost")) node.number("code-files-lost", quality.code_files_lost);
    node.number("bpf-run-time-ns", quality.bpf_run_time_ns);
    node.number("daemon-cpu-ns", quality.daemon_cpu_ns);
    node.flag("truncated-by-size", quality.truncated_by_size);
    node.number("user-stacks", file.stacks.user_stacks);
    node.number("user-stacks-complete", file.stacks.user_stacks_complete);
    node.number("frames", file.stacks.frames);
    node.number("frames-named", file.stacks.frames_named);
}

void read_walks(CheckedAttributes node, const std::string& use, StackWalks& walks) {
    node.number(use, walks.stacks);
    node.number(use + "-complete", walks.complete);
    node.number(use + "-by-frame-pointers", walks.by_frame_pointers);
    // newer than the others
    if (node.has((use + "-late").c_str())) node.number(use + "-late", walks.late);
}

// Both elements are newer than version 1 of the file.
void read_stacks(pugi::xml_node recording, StackQuality& quality, std::optional<Error>& error) {
    if (const pugi::xml_node node = recording.child("stacks")) {
        read_walks(CheckedAttributes(node, error), "on-cpu", quality.on_cpu);
        read_walks(CheckedAttributes(node, error), "off-cpu", quality.off_cpu);
        if (node.attribute("delayed"))
            read_walks(CheckedAttributes(node, error), "delayed", quality.delayed);
        read_list(node, "stop", stops_limit, error, [&](pugi::xml_node child) {
            StackStop& stop = quality.stops.emplace_back();
            CheckedAttributes attributes(child, error);
            attributes.text("module", stop.module);
            attributes.text("reason", stop.reason);
            attributes.number("on-cpu", stop.on_cpu);
            attributes.number("off-cpu", stop.off_cpu);
        });
        CheckedAttributes others(node.child("other-stops"), error);
        others.number("on-cpu", quality.other_stops.on_cpu);
        others.number("off-cpu", quality.other_stops.off_cpu);
    }
    if (const pugi::xml_node node = recording.child("names")) {
        CheckedAttributes names(node, error);
        names.number("frames-located", quality.frames_located);
        names.number("modules", quality.naming.modules);
        names.number("modules-gone", quality.naming.modules_gone);
        names.number("modules-damaged", quality.naming.modules_damaged);
        names.number("modules-left-out", quality.naming.modules_left_out);
        names.number("places-left-out", quality.naming.places_left_out);
        names.number("lines-left-out", quality.naming.lines_left_out);
    }
}

// Newer than version 1 of the file.
void read_length(CheckedAttributes& recording, SystemFile& file) {
    if (recording.has("trace-length-ns")) recording.number("trace-length-ns", file.trace_length_ns);
    if (recording.has("history-length-ns"))
        recording.number("history-length-ns", file.history_length_ns);
    if (recording.has("history-interval-ns"))
        recording.number("history-interval-ns", file.history_interval_ns);
    if (recording.has("trace-length-limit-ns"))
        recording.number("trace-length-limit-ns", file.trace_length_limit_ns);
    std::string end;
    if (recording.has("end")) recording.text("end", end);
    file.end = recording_end_named(end);
}

void read_recording(pugi::xml_node node, SystemFile& file, std::optional<Error>& error) {
    CheckedAttributes recording(node, error);
    recording.number("started-realtime-ns", file.started_realtime_ns);
    recording.number("started-boottime-ns", file.started_boottime_ns);
    recording.number("length-ns", file.length_ns);
    read_length(recording, file);
    recording.number("sample-interval-ns", file.sample_interval_ns);
    recording.text("stack-method", file.stack_method);
    recording.flag("partial", file.partial);
    CheckedAttributes trigger(node.child("trigger"), error);
    trigger.text("reason", file.trigger_reason);
    if (file.trigger_reason != "deadline" && file.trigger_reason != "end" &&
        file.trigger_reason != "manual")
        trigger.fail("reason", file.trigger_reason, "deadline, end or manual");
    trigger.text("event", file.trigger_event);
    trigger.number("breach-boottime-ns", file.breach_boottime_ns);
    read_quality(CheckedAttributes(node.child("quality"), error), file);
    // Newer than version 1 of the file. Earlier versions call it "shed".
    for (const char* name : {"omitted", "shed"})
        read_list(node.child("quality"), name, omitted_limit, error, [&](pugi::xml_node child) {
            CheckedAttributes(child, error).text("text", file.quality.omitted.emplace_back());
        });
    read_stacks(node, file.stacks, error);
}

void read_parts(pugi::xml_node node, TimeParts& parts, std::optional<Error>& error) {
    CheckedAttributes attributes(node, error);
    attributes.number("on-cpu-ns", parts.on_cpu_ns);
    attributes.number("runnable-ns", parts.runnable_ns);
    attributes.number("throttled-ns", parts.throttled_ns);
    read_list(node, "blocked", LAGTRAP_WAIT_CLASSES, error, [&](pugi::xml_node child) {
        std::string name;
        CheckedAttributes of_class(child, error);
        of_class.text("class", name);
        of_class.number("ns", parts.blocked_ns[wait_class_of(name)]);
    });
}

void read_so_far(pugi::xml_node node, RunSoFar& known, std::optional<Error>& error) {
    CheckedAttributes attributes(node, error);
    attributes.number("tid", known.tid);
    attributes.number("from-offset-ns", known.from_offset_ns);
    attributes.number("until-offset-ns", known.until_offset_ns);
    read_parts(node, known, error);
    if (const pugi::xml_node earlier = node.child("earlier"))
        read_parts(earlier, known.earlier, error);
    read_list(node, "wait", LAGTRAP_KEPT_WAITS, error, [&](pugi::xml_node child) {
        std::string name;
        RunSoFar::Wait& wait = known.waits.emplace_back();
        CheckedAttributes of_wait(child, error);
        of_wait.text("class", name);
        of_wait.number("offset-ns", wait.offset_ns);
        of_wait.number("length-ns", wait.length_ns);
        wait.wait_class = wait_class_of(name);
        if (!of_wait.has("waker")) return;
        of_wait.text("waker", name);
        wait.waker = waker_of(name);
        if (wait.waker != LAGTRAP_WAKER_THREAD) return;
        of_wait.number("waker-pid", wait.waker_pid);
        of_wait.number("waker-tid", wait.waker_tid);
        of_wait.text("waker-thread", wait.waker_thread);
    });
    std::sort(known.waits.begin(), known.waits.end(),
              [](const auto& a, const auto& b) { return a.offset_ns < b.offset_ns; });
}

void read_delay(pugi::xml_node node, Delay& delay, std::optional<Error>& error) {
    CheckedAttributes attributes(node, error);
    attributes.number("run", delay.run_id);
    attributes.text("event", delay.event);
    attributes.number("threshold-ns", delay.threshold_ns);
    attributes.number("begin-ns", delay.begin_ns);
    attributes.number("duration-ns", delay.duration_ns);
    attributes.flag("open", delay.open);
    attributes.flag("first", delay.first);
    attributes.flag("earlier-begin", delay.earlier_begin);
    attributes.number("queued-ns", delay.queued_ns);
    attributes.number("key", delay.key);
    delay.in_go = attributes.has("goroutine");
    if (delay.in_go) attributes.number("goroutine", delay.goroutine);
    attributes.number("begin-pid", delay.begin_pid);
    attributes.number("begin-tid", delay.begin_tid);
    attributes.number("end-pid", delay.end_pid);
    attributes.number("end-tid", delay.end_tid);
    attributes.text("process", delay.process);
    attributes.text("thread", delay.thread);
    attributes.text("program", delay.program);
    attributes.hexadecimal("program-build-id", 64, delay.program_build_id);
    attributes.text("program-version", delay.program_version);
    if (attributes.has("control-group")) attributes.text("control-group", delay.control_group);
    if (attributes.has("unit")) attributes.text("unit", delay.unit);
    if (attributes.has("user")) attributes.text("user", delay.user);
    attributes.hexadecimal_if_there("trace-id", 32, delay.trace.trace_id);
    attributes.hexadecimal_if_there("parent-span-id", 16, delay.trace.parent_span_id);
    if (attributes.has("no-trace-id")) attributes.text("no-trace-id", delay.no_trace);
    if (attributes.has("without-stages")) attributes.flag("without-stages", delay.without_stages);
    for (const pugi::xml_node child : node.children("stage")) {
        if (error) return;
        if (delay.stages.size() == LAGTRAP_MAX_STAGES) {
            error =
                make_error(ErrorKind::TooLarge, "system file: a delay has more than " +
                                                    std::to_string(LAGTRAP_MAX_STAGES) + " stages");
            return;
        }
        StageTime& stage = delay.stages.emplace_back();
        CheckedAttributes of_stage(child, error);
        of_stage.text("name", stage.name);
        of_stage.number("offset-ns", stage.offset_ns);
        of_stage.number("tid", stage.tid);
    }
    if (const pugi::xml_node so_far = node.child("so-far"))
        read_so_far(so_far, delay.so_far, error);
}

void read_lists(pugi::xml_node root, SystemFile& file, std::optional<Error>& error) {
    read_list(root.child("events"), "event", list_limit, error, [&](pugi::xml_node node) {
        CheckedAttributes attributes(node, error);
        std::string name;
        RunCounts counts;
        attributes.text("name", name);
        attributes.number("runs", counts.runs);
        attributes.number("delays", counts.delays);
        file.runs[name] = counts;
        if (!node.child("marker")) return;  // newer than version 1 of the file
        read_list(node, "marker", LAGTRAP_MAX_STAGES + 2, error, [&](pugi::xml_node child) {
            EventMarker& marker = file.markers[name].emplace_back();
            CheckedAttributes texts(child, error);
            texts.text("stage", marker.stage);
            texts.text("text", marker.text);
        });
    });
    CheckedAttributes(root.child("delays"), error).number("left-out", file.delays_left_out);
    read_list(root.child("delays"), "delay", list_limit, error,
              [&](pugi::xml_node node) { read_delay(node, file.delays.emplace_back(), error); });
    read_list(root.child("modules"), "module", list_limit, error, [&](pugi::xml_node node) {
        Module& module = file.modules.emplace_back();
        CheckedAttributes attributes(node, error);
        attributes.text("path", module.path);
        attributes.hexadecimal("build-id", 64, module.build_id);
    });
}

void read_function(pugi::xml_node node, CountedFunction& function, std::optional<Error>& error) {
    CheckedAttributes attributes(node, error);
    attributes.text("name", function.name);
    attributes.text("module", function.module);
    attributes.text("source", function.source);
    attributes.number("line", function.line);
    attributes.number("calls", function.calls);
    attributes.number("left", function.left);
    attributes.number("own-ns", function.own_ns);
    attributes.number("longest-ns", function.longest_ns);
    read_list(node, "caller", FunctionCounts::path_limit, error, [&](pugi::xml_node child) {
        CheckedAttributes(child, error).text("name", function.path.emplace_back());
    });
    if (function.calls == 0) attributes.fail("calls", "0", "a number from 1");
}

void read_functions(pugi::xml_node node, FunctionCounts& counts, std::optional<Error>& error) {
    CheckedAttributes attributes(node, error);
    attributes.number("pid", counts.pid);
    attributes.text("process", counts.process);
    attributes.number("from-ns", counts.from_ns);
    attributes.number("length-ns", counts.length_ns);
    attributes.number("window-ns", counts.window_ns);
    attributes.number("watched", counts.watched);
    attributes.number("detached", counts.detached);
    attributes.number("least-ns", counts.min_ns);
    attributes.number("reported", counts.reported);
    attributes.number("not-reported", counts.not_reported);
    attributes.number("too-deep", counts.too_deep);
    attributes.number("others", counts.others);
    attributes.number("others-calls", counts.others_calls);
    attributes.number("others-own-ns", counts.others_own_ns);
    read_list(node, "function", FunctionCounts::functions_limit, error, [&](pugi::xml_node child) {
        read_function(child, counts.functions.emplace_back(), error);
    });
}

Status check_bounds(std::string_view text) {
    if (text.size() > file_limit_bytes)
        return make_error(ErrorKind::TooLarge,
                          "system file of " + std::to_string(text.size()) + " bytes; at most " +
                              std::to_string(file_limit_bytes) + " are allowed");
    if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '<')) > element_limit)
        return make_error(ErrorKind::TooLarge,
                          "system file: more than " + std::to_string(element_limit) + " elements");
    if (text.find('\0') != std::string_view::npos)
        return make_error(ErrorKind::Invalid, "system file: holds NUL bytes");
    return success();
}

}  // namespace

Result<SystemFile> read_system_file(std::string_view text) {
    TRY(check_bounds(text));
    pugi::xml_document document;
    // State the encoding: otherwise a byte order mark could bypass the checks above.
    const auto parsed = document.load_buffer(
        text.data(), text.size(), pugi::parse_default | pugi::parse_doctype, pugi::encoding_utf8);
    if (!parsed)
        return make_error(ErrorKind::Invalid, std::string("system file: not XML: ") +
                                                  parsed.description() + " at byte " +
                                                  std::to_string(parsed.offset));
    for (const pugi::xml_node node : document.children())
        if (node.type() == pugi::node_doctype)
            return make_error(ErrorKind::Invalid, "system file: holds a document type definition");
    const pugi::xml_node root = document.child("lagtrap-system");
    if (!root)
        return make_error(ErrorKind::Invalid, "system file: its root is not \"lagtrap-system\"");
    std::optional<Error> error;
    SystemFile file;
    CheckedAttributes attributes(root, error);
    std::uint32_t version = 0;
    attributes.number("version", version);
    if (!error && version != system_file_version)
        return make_error(ErrorKind::Unsupported, "system file of version " +
                                                      std::to_string(version) +
                                                      "; this program reads version " +
                                                      std::to_string(system_file_version));
    attributes.text("session", file.session_id);
    if (!is_session_id(file.session_id)) attributes.fail("session", file.session_id, "a UUID");
    attributes.text("lagtrap", file.lagtrap_version);
    read_machine(CheckedAttributes(root.child("machine"), error), file);
    read_recording(root.child("recording"), file, error);
    read_lists(root, file, error);
    if (const pugi::xml_node functions = root.child("functions"))
        read_functions(functions, file.functions.emplace(), error);
    if (const pugi::xml_node objects = root.child("objects"))
        read_list(objects, "line", SystemFile::object_lines_limit, error,
                  [&](pugi::xml_node child) {
                      CheckedAttributes(child, error).text("json", file.objects.emplace_back());
                  });
    if (error) return *error;
    return file;
}

}  // namespace lagtrap::trace
