#include "trace/system_file/system_file.hpp"

#include <algorithm>
#include <sstream>

#include <pugixml.hpp>

#include "core/clock.hpp"
#include "core/text.hpp"

namespace lagtrap::trace {
namespace {

void set_text(pugi::xml_node node, const char* name, const std::string& value) {
    std::string text = printable(value);
    if (text.size() > text_limit_bytes) {
        std::size_t length = text_limit_bytes;
        while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
        text.resize(length);
    }
    node.append_attribute(name) = text.c_str();
}

void set_number(pugi::xml_node node, const char* name, std::uint64_t value) {
    node.append_attribute(name) = static_cast<unsigned long long>(value);
}

void set_flag(pugi::xml_node node, const char* name, bool value) {
    node.append_attribute(name) = value;
}

void write_machine(pugi::xml_node parent, const SystemFile& file) {
    pugi::xml_node node = parent.append_child("machine");
    set_text(node, "host", file.host);
    set_text(node, "id", file.machine_id);
    set_text(node, "os", file.os_name);
    set_text(node, "kernel", file.kernel_release);
    set_text(node, "architecture", file.architecture);
    set_number(node, "cpus", file.cpu_count);
    set_text(node, "cpu-model", file.cpu_model);
    set_number(node, "memory-bytes", file.memory_bytes);
}

void write_quality(pugi::xml_node parent, const SystemFile& file) {
    pugi::xml_node node = parent.append_child("quality");
    const SessionQuality& quality = file.quality;
    set_number(node, "samples-taken", quality.samples_taken);
    set_number(node, "samples-lost", quality.samples_lost);
    set_number(node, "switches-lost", quality.switches_lost);
    set_number(node, "wakings-lost", quality.wakings_lost);
    if (quality.contexts_lost != 0) set_number(node, "contexts-lost", quality.contexts_lost);
    if (quality.contexts_unreadable != 0)
        set_number(node, "contexts-unreadable", quality.contexts_unreadable);
    set_number(node, "stacks-lost", quality.stacks_lost);
    set_number(node, "stack-copies", quality.stack_copies);
    set_number(node, "stack-copies-left-out", quality.stack_copies_left_out);
    set_number(node, "runs-lost", quality.runs_lost);
    set_number(node, "task-changes-lost", quality.task_changes_lost);
    set_number(node, "code-files-lost", quality.code_files_lost);
    set_number(node, "bpf-run-time-ns", quality.bpf_run_time_ns);
    set_number(node, "daemon-cpu-ns", quality.daemon_cpu_ns);
    set_flag(node, "truncated-by-size", quality.truncated_by_size);
    for (std::size_t i = 0; i < std::min(quality.omitted.size(), omitted_limit); ++i)
        set_text(node.append_child("omitted"), "text", quality.omitted[i]);
    set_number(node, "user-stacks", file.stacks.user_stacks);
    set_number(node, "user-stacks-complete", file.stacks.user_stacks_complete);
    set_number(node, "frames", file.stacks.frames);
    set_number(node, "frames-named", file.stacks.frames_named);
}

void write_walks(pugi::xml_node node, const std::string& use, const StackWalks& walks) {
    set_number(node, use.c_str(), walks.stacks);
    set_number(node, (use + "-complete").c_str(), walks.complete);
    set_number(node, (use + "-by-frame-pointers").c_str(), walks.by_frame_pointers);
    set_number(node, (use + "-late").c_str(), walks.late);
}

void write_stacks(pugi::xml_node parent, const StackQuality& quality) {
    pugi::xml_node node = parent.append_child("stacks");
    write_walks(node, "on-cpu", quality.on_cpu);
    write_walks(node, "off-cpu", quality.off_cpu);
    write_walks(node, "delayed", quality.delayed);
    for (const StackStop& stop : quality.stops) {
        pugi::xml_node child = node.append_child("stop");
        set_text(child, "module", stop.module);
        set_text(child, "reason", stop.reason);
        set_number(child, "on-cpu", stop.on_cpu);
        set_number(child, "off-cpu", stop.off_cpu);
    }
    pugi::xml_node others = node.append_child("other-stops");
    set_number(others, "on-cpu", quality.other_stops.on_cpu);
    set_number(others, "off-cpu", quality.other_stops.off_cpu);
}

void write_names(pugi::xml_node parent, const StackQuality& quality) {
    pugi::xml_node node = parent.append_child("names");
    const NamingQuality& naming = quality.naming;
    set_number(node, "frames-located", quality.frames_located);
    set_number(node, "modules", naming.modules);
    set_number(node, "modules-gone", naming.modules_gone);
    set_number(node, "modules-damaged", naming.modules_damaged);
    set_number(node, "modules-left-out", naming.modules_left_out);
    set_number(node, "places-left-out", naming.places_left_out);
    set_number(node, "lines-left-out", naming.lines_left_out);
}

void write_recording(pugi::xml_node parent, const SystemFile& file) {
    pugi::xml_node node = parent.append_child("recording");
    set_text(node, "started", format_utc(file.started_realtime_ns));
    set_number(node, "started-realtime-ns", file.started_realtime_ns);
    set_number(node, "started-boottime-ns", file.started_boottime_ns);
    set_number(node, "length-ns", file.length_ns);
    set_number(node, "trace-length-ns", file.trace_length_ns);
    set_number(node, "trace-length-limit-ns", file.trace_length_limit_ns);
    if (file.history_length_ns != 0) {
        set_number(node, "history-length-ns", file.history_length_ns);
        set_number(node, "history-interval-ns", file.history_interval_ns);
    }
    set_text(node, "end", std::string(recording_end_name(file.end)));
    set_number(node, "sample-interval-ns", file.sample_interval_ns);
    set_text(node, "stack-method", file.stack_method);
    set_flag(node, "partial", file.partial);
    pugi::xml_node trigger = node.append_child("trigger");
    set_text(trigger, "reason", file.trigger_reason);
    set_text(trigger, "event", file.trigger_event);
    set_number(trigger, "breach-boottime-ns", file.breach_boottime_ns);
    write_quality(node, file);
    write_stacks(node, file.stacks);
    write_names(node, file.stacks);
}

void write_parts(pugi::xml_node node, const TimeParts& parts) {
    set_number(node, "on-cpu-ns", parts.on_cpu_ns);
    set_number(node, "runnable-ns", parts.runnable_ns);
    set_number(node, "throttled-ns", parts.throttled_ns);
    for (std::uint32_t i = 0; i < parts.blocked_ns.size(); ++i) {
        if (parts.blocked_ns[i] == 0) continue;
        pugi::xml_node blocked = node.append_child("blocked");
        set_text(blocked, "class", std::string(wait_class_name(i)));
        set_number(blocked, "ns", parts.blocked_ns[i]);
    }
}

void write_so_far(pugi::xml_node parent, const RunSoFar& known) {
    if (!known.known()) return;
    pugi::xml_node node = parent.append_child("so-far");
    set_number(node, "tid", known.tid);
    set_number(node, "from-offset-ns", known.from_offset_ns);
    set_number(node, "until-offset-ns", known.until_offset_ns);
    write_parts(node, known);
    if (known.earlier.total_ns() > 0) write_parts(node.append_child("earlier"), known.earlier);
    for (const auto& wait : known.waits) {
        pugi::xml_node child = node.append_child("wait");
        set_text(child, "class", std::string(wait_class_name(wait.wait_class)));
        set_number(child, "offset-ns", wait.offset_ns);
        set_number(child, "length-ns", wait.length_ns);
        if (wait.waker == LAGTRAP_WAKER_UNKNOWN) continue;
        set_text(child, "waker", std::string(waker_name(wait.waker)));
        if (wait.waker != LAGTRAP_WAKER_THREAD) continue;
        set_number(child, "waker-pid", wait.waker_pid);
        set_number(child, "waker-tid", wait.waker_tid);
        set_text(child, "waker-thread", wait.waker_thread);
    }
}

void write_delay(pugi::xml_node parent, const Delay& delay) {
    pugi::xml_node node = parent.append_child("delay");
    set_number(node, "run", delay.run_id);
    set_text(node, "event", delay.event);
    set_number(node, "threshold-ns", delay.threshold_ns);
    set_number(node, "begin-ns", delay.begin_ns);
    set_number(node, "duration-ns", delay.duration_ns);
    set_flag(node, "open", delay.open);
    set_flag(node, "first", delay.first);
    set_flag(node, "earlier-begin", delay.earlier_begin);
    set_number(node, "queued-ns", delay.queued_ns);
    set_number(node, "key", delay.key);
    if (delay.in_go) set_number(node, "goroutine", delay.goroutine);
    set_number(node, "begin-pid", delay.begin_pid);
    set_number(node, "begin-tid", delay.begin_tid);
    set_number(node, "end-pid", delay.end_pid);
    set_number(node, "end-tid", delay.end_tid);
    set_text(node, "process", delay.process);
    set_text(node, "thread", delay.thread);
    set_text(node, "program", delay.program);
    set_text(node, "program-build-id", delay.program_build_id);
    set_text(node, "program-version", delay.program_version);
    if (!delay.control_group.empty()) set_text(node, "control-group", delay.control_group);
    if (!delay.unit.empty()) set_text(node, "unit", delay.unit);
    if (!delay.user.empty()) set_text(node, "user", delay.user);
    if (!delay.trace.trace_id.empty()) set_text(node, "trace-id", delay.trace.trace_id);
    if (!delay.trace.parent_span_id.empty())
        set_text(node, "parent-span-id", delay.trace.parent_span_id);
    if (!delay.no_trace.empty()) set_text(node, "no-trace-id", delay.no_trace);
    if (delay.without_stages) set_flag(node, "without-stages", true);
    for (const auto& stage : delay.stages) {
        pugi::xml_node child = node.append_child("stage");
        set_text(child, "name", stage.name);
        set_number(child, "offset-ns", stage.offset_ns);
        set_number(child, "tid", stage.tid);
    }
    write_so_far(node, delay.so_far);
}

void write_functions(pugi::xml_node parent, const FunctionCounts& counts) {
    pugi::xml_node node = parent.append_child("functions");
    set_number(node, "pid", counts.pid);
    set_text(node, "process", counts.process);
    set_number(node, "from-ns", counts.from_ns);
    set_number(node, "length-ns", counts.length_ns);
    set_number(node, "window-ns", counts.window_ns);
    set_number(node, "watched", counts.watched);
    set_number(node, "detached", counts.detached);
    set_number(node, "least-ns", counts.min_ns);
    set_number(node, "reported", counts.reported);
    set_number(node, "not-reported", counts.not_reported);
    set_number(node, "too-deep", counts.too_deep);
    set_number(node, "others", counts.others);
    set_number(node, "others-calls", counts.others_calls);
    set_number(node, "others-own-ns", counts.others_own_ns);
    for (const CountedFunction& one : counts.functions) {
        pugi::xml_node child = node.append_child("function");
        set_text(child, "name", one.name);
        set_text(child, "module", one.module);
        set_text(child, "source", one.source);
        set_number(child, "line", one.line);
        set_number(child, "calls", one.calls);
        set_number(child, "left", one.left);
        set_number(child, "own-ns", one.own_ns);
        set_number(child, "longest-ns", one.longest_ns);
        for (const std::string& caller : one.path)
            set_text(child.append_child("caller"), "name", caller);
    }
}

}  // namespace

std::string write_system_file(const SystemFile& file) {
    pugi::xml_document document;
    pugi::xml_node declaration = document.append_child(pugi::node_declaration);
    declaration.append_attribute("version") = "1.0";
    declaration.append_attribute("encoding") = "UTF-8";
    pugi::xml_node root = document.append_child("lagtrap-system");
    set_number(root, "version", system_file_version);
    set_text(root, "session", file.session_id);
    set_text(root, "lagtrap", file.lagtrap_version);
    write_machine(root, file);
    write_recording(root, file);
    pugi::xml_node events = root.append_child("events");
    for (const auto& [name, counts] : file.runs) {
        pugi::xml_node node = events.append_child("event");
        set_text(node, "name", name);
        set_number(node, "runs", counts.runs);
        set_number(node, "delays", counts.delays);
        const auto markers = file.markers.find(name);
        if (markers == file.markers.end()) continue;
        for (const EventMarker& marker : markers->second) {
            pugi::xml_node child = node.append_child("marker");
            set_text(child, "stage", marker.stage);
            set_text(child, "text", marker.text);
        }
    }
    pugi::xml_node delays = root.append_child("delays");
    set_number(delays, "left-out", file.delays_left_out);
    for (const auto& delay : file.delays) write_delay(delays, delay);
    pugi::xml_node modules = root.append_child("modules");
    for (const auto& module : file.modules) {
        pugi::xml_node node = modules.append_child("module");
        set_text(node, "path", module.path);
        set_text(node, "build-id", module.build_id);
    }
    if (file.functions) write_functions(root, *file.functions);
    if (!file.objects.empty()) {
        pugi::xml_node node = root.append_child("objects");
        for (const std::string& line : file.objects)
            set_text(node.append_child("line"), "json", line);
    }
    std::ostringstream text;
    document.save(text, " ");
    return text.str();
}

}  // namespace lagtrap::trace
