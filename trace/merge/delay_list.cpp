#include "trace/merge/delay_list.hpp"

#include <algorithm>

#include "core/text.hpp"

namespace lagtrap::trace {

void DelayList::add(const lagtrap_run& run, const RunFacts& facts, const ThreadTable& threads) {
    if (contents_.file.delays.size() >= contents_.options.delays_limit && !facts.first) {
        ++contents_.file.delays_left_out;
        return;
    }
    const SessionEvent& event = contents_.session.events[run.event];
    processes_.insert(run.begin_pid);
    Delay& delay = contents_.file.delays.emplace_back();
    delay.run_id = facts.id;
    delay.event = event.name;
    delay.threshold_ns = event.threshold_ns;
    delay.begin_ns = contents_.to_boottime(run.begin_ns);
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
    delay.process = threads.process_name(run.begin_pid, run.begin_ns);
    const ThreadState* thread = threads.find(run.begin_tid);
    delay.thread = run.comm[0] == 0 && thread != nullptr ? thread->name : comm_text(run.comm);
    // The rundown may have found nothing about a process that exited when its run ended.
    if (delay.process.empty() && run.begin_tid == run.begin_pid) delay.process = delay.thread;
    if (const ProcessImage* image = contents_.spaces.image_of(
            run.begin_pid, std::max<std::uint64_t>(run.begin_ns, contents_.session.started_ns))) {
        delay.program = image->started_path.empty() ? image->program : image->started_path;
        delay.control_group = image->control_group;
        delay.unit =
            printable(group_words(image->control_group, contents_.session.containers).whole);
        delay.user = users_.name_of(image->uid);
        delay.program_build_id = hexadecimal(contents_.spaces.program_build_id(*image));
        if (contents_.options.symbols.open_programs)
            delay.program_version = packages_.version_of(image->program, delay.program_build_id);
    }
    contents_.run_details.tell(run, delay);
    if (delay.trace.trace_id.empty() && !of_goroutine)
        delay.trace = contents_.thread_contexts.trace_of(run.begin_tid, run.begin_ns, run.end_ns);
    for (std::size_t i = 0; i < run.stage_count; ++i) {
        const lagtrap_stage_hit& stage = run.stages[i];
        if (stage.stage >= event.stages.size()) continue;
        const std::uint64_t at_ns =
            std::clamp<std::uint64_t>(stage.at_ns, run.begin_ns, run.end_ns);
        delay.stages.push_back({event.stages[stage.stage], at_ns - run.begin_ns, stage.tid});
    }
    std::stable_sort(delay.stages.begin(), delay.stages.end(),
                     [](const auto& a, const auto& b) { return a.offset_ns < b.offset_ns; });
}

}  // namespace lagtrap::trace
