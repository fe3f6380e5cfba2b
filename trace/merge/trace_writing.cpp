#include "trace/merge/trace_writing.hpp"

#include <algorithm>
#include <limits>

#include "trace/merge/machine_packets.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::uint64_t never_ns = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void TraceWriting::take_run(const lagtrap_run& run) {
    const SessionEvent& event = contents_.session.events[run.event];
    const SessionTrigger& trigger = contents_.session.trigger;
    RunFacts facts;
    facts.id = next_run_++;
    facts.duration_ns = run.end_ns - run.begin_ns;
    facts.queued_ns = run.begin_hit_ns > run.begin_ns ? run.begin_hit_ns - run.begin_ns : 0;
    facts.delay = (run.flags & LAGTRAP_RUN_DELAY) != 0 || facts.duration_ns > event.threshold_ns;
    facts.first = trigger.reason != TriggerReason::Manual && trigger.event == run.event &&
                  trigger.begin_ns == run.begin_ns && trigger.pid == run.begin_pid &&
                  trigger.tid == run.begin_tid;
    ++summary_.runs;
    RunCounts& counts = contents_.file.runs[event.name];
    ++counts.runs;
    if (facts.delay) {
        ++summary_.delays;
        ++counts.delays;
        delays_.add(run, facts, *threads_);
    }
    runs_->begin(run, facts);
}

void TraceWriting::count_late(const lagtrap_record* record) {
    ++summary_.late_records;
    if (record->type == LAGTRAP_RECORD_SAMPLE) ++contents_.file.quality.samples_lost;
    if (record->type == LAGTRAP_RECORD_SWITCH) ++contents_.file.quality.switches_lost;
    if (record->type == LAGTRAP_RECORD_WAKING) ++contents_.file.quality.wakings_lost;
}

void TraceWriting::write_kernel_record(const lagtrap_record* record) {
    if (record->type != LAGTRAP_RECORD_CONTEXT) return kernel_records_->write(record);
    const auto& context = *reinterpret_cast<const lagtrap_context*>(record);
    threads_->at(context.tid, context.pid, context.header.at_ns);
    write_context(context, contents_.thread_contexts.attributes_of(context),
                  contents_.to_boottime(context.header.at_ns), *writer_);
}

Status TraceWriting::write_records() {
    TRY_ASSIGN(RecordStream kernel, contents_.open_stream(LogKind::Kernel));
    kernel.leave_out(LAGTRAP_RECORD_STACK);
    TRY_ASSIGN(RecordStream rundown, contents_.open_stream(LogKind::Rundown));
    rundown.leave_out(LAGTRAP_RECORD_MAPPING);
    TRY_ASSIGN(const lagtrap_record* kernel_record, kernel.peek());
    TRY_ASSIGN(const lagtrap_run* run, contents_.sorter.peek());
    last_ns_ = contents_.session.started_ns;
    if (kernel_record != nullptr)
        last_ns_ = std::min<std::uint64_t>(last_ns_, kernel_record->at_ns);
    if (run != nullptr) last_ns_ = std::min<std::uint64_t>(last_ns_, run->begin_ns);
    write_machine(contents_.session, *writer_, contents_.to_boottime(last_ns_));
    kernel_records_->begin(last_ns_);
    threads_->write_initial(contents_.listed.first(), last_ns_);
    bool sleepers_written = false;
    for (;;) {
        TRY_ASSIGN(kernel_record, kernel.peek());
        TRY_ASSIGN(const lagtrap_record* rundown_record, rundown.peek());
        TRY_ASSIGN(run, contents_.sorter.peek());
        const std::uint64_t kernel_ns = kernel_record != nullptr ? kernel_record->at_ns : never_ns;
        const std::uint64_t rundown_ns =
            rundown_record != nullptr ? rundown_record->at_ns : never_ns;
        const std::uint64_t run_ns = run != nullptr ? run->begin_ns : never_ns;
        const std::uint64_t next_ns =
            std::min({kernel_ns, rundown_ns, run_ns, runs_->next_due_ns(),
                      contents_.calls.next_due_ns(), contents_.functions.next_due_ns()});
        if (!sleepers_written && next_ns >= contents_.session.started_ns) {
            sleepers_written = true;
            last_ns_ = std::max(last_ns_, contents_.session.started_ns);
            contents_.listed.take_sleepers([&](const lagtrap_thread& thread) {
                kernel_records_->write_off_cpu(0, thread.pid, thread.tid, last_ns_,
                                               thread.kernel_stack_id, thread.user_stack_id,
                                               thread.wait_object, thread.lock_owner);
            });
            continue;
        }
        // A record with a time before the last one written is late.
        const std::uint64_t at_ns =
            next_ns == never_ns ? last_ns_ + 1 : std::max(last_ns_, next_ns);
        threads_->write_pending(at_ns);
        if (next_ns == never_ns) return success();
        if (rundown_record != nullptr && rundown_ns == next_ns) {
            threads_->take(rundown_record, at_ns);
            rundown.pop();
        } else if (runs_->next_due_ns() == next_ns) {
            runs_->write_due(next_ns);
        } else if (contents_.calls.next_due_ns() == next_ns) {
            contents_.calls.write_due(next_ns);
        } else if (contents_.functions.next_due_ns() == next_ns) {
            contents_.functions.write_due(next_ns);
        } else if (run != nullptr && run_ns == next_ns) {
            take_run(*run);
            contents_.sorter.pop();
        } else {
            if (kernel_ns < last_ns_) {
                count_late(kernel_record);
            } else {
                write_kernel_record(kernel_record);
            }
            kernel.pop();
        }
        last_ns_ = at_ns;
    }
}

Status TraceWriting::write(const std::filesystem::path& file) {
    TRY_ASSIGN(writer_, PacketWriter::create(file));
    threads_.emplace(contents_.spaces, *writer_, contents_.offset_ns, contents_.session.containers);
    runs_.emplace(contents_.session, *threads_, *writer_, contents_.offset_ns);
    contents_.calls.add_to(*writer_, contents_.offset_ns);
    contents_.functions.add_to(*writer_, contents_.offset_ns, contents_.file);
    kernel_records_.emplace(contents_.session, contents_.stacks, contents_.modules, stack_quality_,
                            *threads_, *writer_, contents_.options.callstacks_limit);
    TRY(write_records());
    TRY(writer_->finish());
    sum_up();
    return success();
}

void TraceWriting::sum_up() {
    const auto& counts = kernel_records_->counts();
    SessionQuality& quality = contents_.file.quality;
    stack_quality_.finish(contents_.file.stacks, delays_.processes());
    quality.switches_lost = std::max(quality.switches_lost, counts.switch_gaps);
    if (!contents_.session.finished) quality.samples_taken = counts.samples;
    summary_.samples = counts.samples;
    summary_.switches = counts.switches;
    summary_.trace_bytes = writer_->size_bytes();
}

}  // namespace lagtrap::trace
