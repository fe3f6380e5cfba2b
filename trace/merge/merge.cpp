#include "trace/merge/merge.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/logs/whole_record.hpp"
#include "trace/merge/merger.hpp"
#include "trace/merge/recorded_objects.hpp"
#include "trace/names/run_time_code.hpp"
#include "trace/system_file/machine_facts.hpp"

namespace lagtrap::trace {
Merger::Merger(const std::filesystem::path& directory, const MergeOptions& options, Session session)
    : directory_(directory),
      options_(options),
      session_(std::move(session)),
      offset_ns_(session_.clocks.boottime_ns - session_.clocks.monotonic_ns),
      stacks_(spaces_, options.stacks_limit_bytes),
      sorter_(directory, options.runs_limit_bytes),
      run_details_(options.delays_limit),
      packages_(options.symbols.machine),
      users_(options.symbols.machine) {
    file_.quality = session_.quality;
    summary_.session_id = session_.id;
    summary_.partial = !session_.finished;
}

Result<std::optional<LogReader>> Merger::open_log(LogKind kind) {
    auto reader = LogReader::open(directory_ / log_file_name(kind));
    if (!reader) {
        // Truncated within its header, or never created: the capture is then what the other logs
        // contain.
        const bool torn = reader.error().kind == ErrorKind::NotFound || reader.error().kind == ErrorKind::Invalid;
        if (!torn) return reader.error();
        summary_.partial = true;
        return std::optional<LogReader>();
    }
    if (reader->summary().session_id != session_.id || reader->summary().kind != kind)
        return make_error(ErrorKind::Invalid, std::string(log_file_name(kind)) + ": belongs to session " +
                                                  reader->summary().session_id + ", not to " + session_.id);
    return std::optional<LogReader>(std::move(reader).value());
}

Result<RecordStream> Merger::open_stream(LogKind kind) {
    TRY_ASSIGN(const auto reader, open_log(kind));
    if (!reader) return RecordStream::missing();
    return RecordStream::open(directory_ / log_file_name(kind), options_.reorder_window_records);
}

Status Merger::load_user_log() {
    TRY_ASSIGN(auto reader, open_log(LogKind::User));
    if (!reader) return success();
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, reader->next());
        if (record == nullptr) break;
        if (record->type == LAGTRAP_RECORD_STACK) stacks_.add(*reinterpret_cast<const lagtrap_stack*>(record));
        if (record->type == LAGTRAP_RECORD_RUN_SO_FAR)
            run_details_.take(*reinterpret_cast<const lagtrap_run_so_far*>(record));
        if (record->type == LAGTRAP_RECORD_TRACE_TEXT)
            run_details_.take(*reinterpret_cast<const lagtrap_trace_text*>(record));
        if (record->type != LAGTRAP_RECORD_RUN) continue;
        lagtrap_run run{};  // a record holds only the stages that were hit
        std::memcpy(&run, record, std::min<std::size_t>(record->size_bytes, sizeof(run)));
        if (run.event >= session_.events.size()) {
            ++file_.quality.runs_lost;
            continue;
        }
        run.end_ns = std::max<std::uint64_t>(run.end_ns, run.begin_ns);
        thread_ends_.cut_off(run);
        TRY(sorter_.add(run));
    }
    if (reader->summary().partial) summary_.partial = true;
    return success();
}

Status Merger::load_kernel_log() {
    TRY_ASSIGN(auto reader, open_log(LogKind::Kernel));
    if (!reader) return success();
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, reader->next());
        if (record == nullptr) break;
        if (record->type == LAGTRAP_RECORD_STACK) stacks_.add(*reinterpret_cast<const lagtrap_stack*>(record));
        if (record->type == LAGTRAP_RECORD_SAMPLE)
            stacks_.count_use(reinterpret_cast<const lagtrap_sample*>(record)->user_stack_id);
        if (record->type != LAGTRAP_RECORD_SWITCH) continue;
        const auto& change = *reinterpret_cast<const lagtrap_switch*>(record);
        stacks_.count_use(change.user_stack_id);
        for (const std::uint32_t tid : {change.prev_tid, change.next_tid}) listed_.note_switch(tid, record->at_ns);
    }
    if (reader->summary().partial) summary_.partial = true;
    return success();
}

// The threads that existed when the recording began; later ones have fork records.
Status Merger::load_threads() {
    TRY_ASSIGN(auto reader, open_log(LogKind::Rundown));
    if (!reader) return success();
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, reader->next());
        if (record == nullptr) break;
        if (record->type == LAGTRAP_RECORD_EXIT) thread_ends_.add(whole_record<lagtrap_task_change>(record));
        if (record->type != LAGTRAP_RECORD_THREAD) continue;
        const auto thread = whole_record<lagtrap_thread>(record);
        if (thread.started_ns > to_boottime(session_.started_ns)) continue;
        listed_.add(thread);
    }
    if (reader->summary().partial) summary_.partial = true;
    listed_.finish();
    return success();
}

Status Merger::load() {
    // A capture interrupted by a crash of the machine is merged after the next boot.
    if (!session_.boot_id.empty() && session_.boot_id != running_boot_id(options_.symbols.proc_root))
        options_.symbols.this_boot = false;
    TRY_ASSIGN(RecordStream rundown, open_stream(LogKind::Rundown));
    TRY(spaces_.load(rundown));
    TRY(load_threads());
    calls_.load(directory_, file_);
    functions_.load(directory_, file_);
    report_objects(directory_, file_);
    TRY(load_user_log());
    TRY(walk_copies());
    TRY(sorter_.finish());
    TRY(load_kernel_log());
    for (const lagtrap_thread& thread : listed_.first()) stacks_.count_use(thread.user_stack_id);
    file_.quality.stacks_lost += stacks_.dropped();
    modules_.at(kernel_module).build_id = read_kernel_build_id(options_.symbols.kernel_notes);
    file_.quality.code_files_lost += name_run_time_code(stacks_, directory_, session_.started_ns).files_bad;
    if (!options_.symbols.open_programs && file_.quality.shed.size() < shed_limit)
        file_.quality.shed.emplace_back("program functions have no names: the merge that looked them up took too long");
    options_.symbols.held_roots = read_held_roots(directory_);
    calls_.ask_sources(stacks_, modules_);
    functions_.ask_sources(stacks_, modules_);
    naming_ = symbolize(stacks_, modules_, options_.symbols);
    calls_.fill_sources(stacks_);
    functions_.fill_sources(stacks_);
    stacks_.finish();
    return success();
}

void Merger::take_run(const lagtrap_run& run) {
    const SessionEvent& event = session_.events[run.event];
    const SessionTrigger& trigger = session_.trigger;
    RunFacts facts;
    facts.id = next_run_++;
    facts.duration_ns = run.end_ns - run.begin_ns;
    facts.queued_ns = run.begin_hit_ns > run.begin_ns ? run.begin_hit_ns - run.begin_ns : 0;
    facts.delay = (run.flags & LAGTRAP_RUN_DELAY) != 0 || facts.duration_ns > event.threshold_ns;
    facts.first = trigger.reason != TriggerReason::Manual && trigger.event == run.event &&
                  trigger.begin_ns == run.begin_ns && trigger.pid == run.begin_pid && trigger.tid == run.begin_tid;
    ++summary_.runs;
    RunCounts& counts = file_.runs[event.name];
    ++counts.runs;
    if (facts.delay) {
        ++summary_.delays;
        ++counts.delays;
        add_delay(run, facts);
    }
    runs_->begin(run, facts);
}

void Merger::add_delay(const lagtrap_run& run, const RunFacts& facts) {
    if (file_.delays.size() >= options_.delays_limit && !facts.first) {
        ++file_.delays_left_out;
        return;
    }
    const SessionEvent& event = session_.events[run.event];
    delayed_.insert(run.begin_pid);
    Delay& delay = file_.delays.emplace_back();
    delay.run_id = facts.id;
    delay.event = event.name;
    delay.threshold_ns = event.threshold_ns;
    delay.begin_ns = to_boottime(run.begin_ns);
    delay.duration_ns = facts.duration_ns;
    delay.open = (run.flags & LAGTRAP_RUN_OPEN) != 0;
    delay.first = facts.first;
    delay.earlier_begin = (run.flags & LAGTRAP_RUN_EARLIER_BEGIN) != 0;
    delay.queued_ns = facts.queued_ns;
    delay.in_go = (run.flags & LAGTRAP_RUN_IN_GO) != 0;
    delay.without_stages = (run.flags & LAGTRAP_RUN_WITHOUT_STAGES) != 0;
    const bool of_goroutine = (run.flags & LAGTRAP_RUN_OF_GOROUTINE) != 0;
    (of_goroutine ? delay.goroutine : delay.key) = run.key;
    delay.begin_pid = run.begin_pid;
    delay.begin_tid = run.begin_tid;
    delay.end_pid = run.end_pid;
    delay.end_tid = run.end_tid;
    delay.process = threads_->process_name(run.begin_pid, run.begin_ns);
    const ThreadState* thread = threads_->find(run.begin_tid);
    delay.thread = run.comm[0] == 0 && thread != nullptr ? thread->name : comm_text(run.comm);
    if (const ProcessImage* image =
            spaces_.image_of(run.begin_pid, std::max<std::uint64_t>(run.begin_ns, session_.started_ns))) {
        delay.program = image->started_path.empty() ? image->program : image->started_path;
        delay.control_group = image->control_group;
        delay.unit = printable(group_words(image->control_group, session_.containers).whole);
        delay.user = users_.name_of(image->uid);
        delay.program_build_id = hexadecimal(spaces_.program_build_id(*image));
        if (options_.symbols.open_programs)
            delay.program_version = packages_.version_of(image->program, delay.program_build_id);
    }
    run_details_.tell(run, delay);
    for (std::size_t i = 0; i < run.stage_count; ++i) {
        const lagtrap_stage_hit& stage = run.stages[i];
        if (stage.stage >= event.stages.size()) continue;
        const std::uint64_t at_ns = std::clamp<std::uint64_t>(stage.at_ns, run.begin_ns, run.end_ns);
        delay.stages.push_back({event.stages[stage.stage], at_ns - run.begin_ns, stage.tid});
    }
    std::stable_sort(delay.stages.begin(), delay.stages.end(),
                     [](const auto& a, const auto& b) { return a.offset_ns < b.offset_ns; });
}

Status Merger::write_system() {
    file_.session_id = session_.id;
    file_.lagtrap_version = session_.lagtrap_version;
    read_machine_facts(file_, options_.symbols.machine);
    file_.cpu_count = session_.cpu_count;
    file_.started_realtime_ns = session_.clocks.to_realtime_ns(session_.started_ns);
    file_.started_boottime_ns = to_boottime(session_.started_ns);
    const std::uint64_t ended_ns = session_.ended_ns != 0 ? session_.ended_ns : last_ns_;
    file_.length_ns = ended_ns > session_.started_ns ? ended_ns - session_.started_ns : 0;
    file_.trace_length_ns = session_.planned_length_ns;
    file_.trace_length_limit_ns = session_.longest_length_ns;
    file_.history_length_ns = session_.history_length_ns;
    file_.history_interval_ns = session_.history_interval_ns;
    file_.end = session_.end;
    file_.sample_interval_ns = session_.sample_interval_ns;
    file_.stack_method = session_.stack_method;
    const SessionTrigger& trigger = session_.trigger;
    file_.trigger_reason = trigger.reason == TriggerReason::Deadline ? "deadline"
                           : trigger.reason == TriggerReason::End    ? "end"
                                                                     : "manual";
    if (trigger.event < session_.events.size()) file_.trigger_event = session_.events[trigger.event].name;
    file_.breach_boottime_ns = to_boottime(trigger.breach_ns);
    file_.partial = summary_.partial;
    stack_quality_.finish(file_.stacks, delayed_);
    file_.stacks.naming = naming_;
    file_.quality.switches_lost = std::max(file_.quality.switches_lost, kernel_records_->counts().switch_gaps);
    if (!session_.finished) file_.quality.samples_taken = kernel_records_->counts().samples;
    for (const SessionEvent& event : session_.events) {
        file_.runs.try_emplace(event.name);
        if (event.markers.size() != event.stages.size() + 2) continue;
        std::vector<EventMarker>& markers = file_.markers[event.name];
        for (std::size_t i = 0; i < event.markers.size(); ++i)
            markers.push_back({i > 0 && i <= event.stages.size() ? event.stages[i - 1] : "", event.markers[i]});
    }
    for (ModuleId id = kernel_module; id < modules_.size(); ++id)
        if (id != jit_module) file_.modules.push_back({modules_.at(id).path, hexadecimal(modules_.at(id).build_id)});
    std::sort(file_.modules.begin(), file_.modules.end(), [](const Module& a, const Module& b) {
        return std::tie(a.path, a.build_id) < std::tie(b.path, b.build_id);
    });
    return write_file_durably(directory_ / "system.xml", write_system_file(file_), 0640);
}

Result<MergeSummary> Merger::merge() {
    TRY(load());
    const auto path = directory_ / "trace.pftrace";
    const auto beside = directory_ / ".trace.pftrace.partial";
    Status written = write_trace();
    if (!written) {
        remove_file(beside);
        return written.error();
    }
    TRY(write_system());
    TRY(rename_file(beside, path));
    summary_.samples = kernel_records_->counts().samples;
    summary_.switches = kernel_records_->counts().switches;
    summary_.trace_bytes = writer_->size_bytes();
    return summary_;
}

Result<MergeSummary> merge_capture(const std::filesystem::path& capture_directory, const MergeOptions& options) {
    auto session = read_session(capture_directory);
    if (!session) return session.error().within("merge");
    Merger merger(capture_directory, options, std::move(session).value());
    auto summary = merger.merge();
    if (!summary) return summary.error().within("merge " + capture_directory.string());
    return summary;
}

}  // namespace lagtrap::trace
