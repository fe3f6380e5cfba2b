#include "trace/merge/merge.hpp"

#include <algorithm>
#include <tuple>

#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/merge/capture_contents.hpp"
#include "trace/merge/capture_loader.hpp"
#include "trace/merge/trace_writing.hpp"
#include "trace/system_file/machine_facts.hpp"

namespace lagtrap::trace {
namespace {

Status write_system(CaptureContents& contents, std::uint64_t last_ns) {
    const Session& session = contents.session;
    SystemFile& file = contents.file;
    file.session_id = session.id;
    file.lagtrap_version = session.lagtrap_version;
    read_machine_facts(file, contents.options.symbols.machine);
    file.cpu_count = session.cpu_count;
    file.started_realtime_ns = session.clocks.to_realtime_ns(session.started_ns);
    file.started_boottime_ns = contents.to_boottime(session.started_ns);
    const std::uint64_t ended_ns = session.ended_ns != 0 ? session.ended_ns : last_ns;
    file.length_ns = ended_ns > session.started_ns ? ended_ns - session.started_ns : 0;
    file.trace_length_ns = session.planned_length_ns;
    file.trace_length_limit_ns = session.longest_length_ns;
    file.history_length_ns = session.history_length_ns;
    file.history_interval_ns = session.history_interval_ns;
    file.end = session.end;
    file.sample_interval_ns = session.sample_interval_ns;
    file.stack_method = session.stack_method;
    const SessionTrigger& trigger = session.trigger;
    file.trigger_reason = trigger.reason == TriggerReason::Deadline ? "deadline"
                          : trigger.reason == TriggerReason::End    ? "end"
                                                                    : "manual";
    if (trigger.event < session.events.size())
        file.trigger_event = session.events[trigger.event].name;
    file.breach_boottime_ns = contents.to_boottime(trigger.breach_ns);
    file.partial = contents.partial;
    file.stacks.naming = contents.naming;
    for (const SessionEvent& event : session.events) {
        file.runs.try_emplace(event.name);
        if (event.markers.size() != event.stages.size() + 2) continue;
        std::vector<EventMarker>& markers = file.markers[event.name];
        for (std::size_t i = 0; i < event.markers.size(); ++i)
            markers.push_back(
                {i > 0 && i <= event.stages.size() ? event.stages[i - 1] : "", event.markers[i]});
    }
    for (ModuleId id = kernel_module; id < contents.modules.size(); ++id)
        if (id != jit_module)
            file.modules.push_back(
                {contents.modules.at(id).path, hexadecimal(contents.modules.at(id).build_id)});
    std::sort(file.modules.begin(), file.modules.end(), [](const Module& a, const Module& b) {
        return std::tie(a.path, a.build_id) < std::tie(b.path, b.build_id);
    });
    return write_file_durably(contents.directory / "system.xml", write_system_file(file), 0640);
}
Result<MergeSummary> merge(CaptureContents& contents) {
    TRY(CaptureLoader(contents).load());
    TraceWriting trace(contents);
    const auto path = contents.directory / "trace.pftrace";
    const auto beside = contents.directory / ".trace.pftrace.partial";
    if (const Status written = trace.write(beside); !written) {
        remove_file(beside);
        return written.error();
    }
    TRY(write_system(contents, trace.last_ns()));
    TRY(rename_file(beside, path));
    MergeSummary summary = trace.summary();
    summary.session_id = contents.session.id;
    summary.partial = contents.partial;
    return summary;
}

}  // namespace

Result<MergeSummary> merge_capture(const std::filesystem::path& capture_directory,
                                   const MergeOptions& options) {
    auto session = read_session(capture_directory);
    if (!session) return session.error().within("merge");
    CaptureContents contents(capture_directory, options, std::move(session).value());
    auto summary = merge(contents);
    if (!summary) return summary.error().within("merge " + capture_directory.string());
    return summary;
}

}  // namespace lagtrap::trace
