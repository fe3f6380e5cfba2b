// Second pass of the merge: writes all records as packets, in time order.
#include <algorithm>
#include <limits>

#include "trace/merge/machine_packets.hpp"
#include "trace/merge/merger.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::uint64_t never_ns = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void Merger::count_late(const lagtrap_record* record) {
    ++summary_.late_records;
    if (record->type == LAGTRAP_RECORD_SAMPLE) ++file_.quality.samples_lost;
    if (record->type == LAGTRAP_RECORD_SWITCH) ++file_.quality.switches_lost;
    if (record->type == LAGTRAP_RECORD_WAKING) ++file_.quality.wakings_lost;
}

Status Merger::write_records() {
    TRY_ASSIGN(RecordStream kernel, open_stream(LogKind::Kernel));
    kernel.leave_out(LAGTRAP_RECORD_STACK);
    TRY_ASSIGN(RecordStream rundown, open_stream(LogKind::Rundown));
    rundown.leave_out(LAGTRAP_RECORD_MAPPING);
    TRY_ASSIGN(const lagtrap_record* kernel_record, kernel.peek());
    TRY_ASSIGN(const lagtrap_run* run, sorter_.peek());
    last_ns_ = session_.started_ns;
    if (kernel_record != nullptr) last_ns_ = std::min<std::uint64_t>(last_ns_, kernel_record->at_ns);
    if (run != nullptr) last_ns_ = std::min<std::uint64_t>(last_ns_, run->begin_ns);
    write_machine(session_, *writer_, to_boottime(last_ns_));
    kernel_records_->begin(last_ns_);
    threads_->write_initial(listed_.first(), last_ns_);
    bool sleepers_written = false;
    for (;;) {
        TRY_ASSIGN(kernel_record, kernel.peek());
        TRY_ASSIGN(const lagtrap_record* rundown_record, rundown.peek());
        TRY_ASSIGN(run, sorter_.peek());
        const std::uint64_t kernel_ns = kernel_record != nullptr ? kernel_record->at_ns : never_ns;
        const std::uint64_t rundown_ns = rundown_record != nullptr ? rundown_record->at_ns : never_ns;
        const std::uint64_t run_ns = run != nullptr ? run->begin_ns : never_ns;
        const std::uint64_t next_ns = std::min(
            {kernel_ns, rundown_ns, run_ns, runs_->next_due_ns(), calls_.next_due_ns(), functions_.next_due_ns()});
        if (!sleepers_written && next_ns >= session_.started_ns) {
            sleepers_written = true;
            last_ns_ = std::max(last_ns_, session_.started_ns);
            listed_.take_sleepers([&](const lagtrap_thread& thread) {
                kernel_records_->write_off_cpu(0, thread.pid, thread.tid, last_ns_, thread.kernel_stack_id,
                                               thread.user_stack_id, thread.wait_object);
            });
            continue;
        }
        // A record with a time before the last one written is late.
        const std::uint64_t at_ns = next_ns == never_ns ? last_ns_ + 1 : std::max(last_ns_, next_ns);
        threads_->write_pending(at_ns);
        if (next_ns == never_ns) return success();
        if (rundown_record != nullptr && rundown_ns == next_ns) {
            threads_->take(rundown_record, at_ns);
            rundown.pop();
        } else if (runs_->next_due_ns() == next_ns) {
            runs_->write_due(next_ns);
        } else if (calls_.next_due_ns() == next_ns) {
            calls_.write_due(next_ns);
        } else if (functions_.next_due_ns() == next_ns) {
            functions_.write_due(next_ns);
        } else if (run != nullptr && run_ns == next_ns) {
            take_run(*run);
            sorter_.pop();
        } else {
            if (kernel_ns < last_ns_) {
                count_late(kernel_record);
            } else {
                kernel_records_->write(kernel_record);
            }
            kernel.pop();
        }
        last_ns_ = at_ns;
    }
}

Status Merger::write_trace() {
    TRY_ASSIGN(writer_, PacketWriter::create(directory_ / ".trace.pftrace.partial"));
    threads_.emplace(spaces_, *writer_, offset_ns_, session_.containers);
    runs_.emplace(session_, *threads_, *writer_, offset_ns_);
    calls_.add_to(*writer_, offset_ns_);
    functions_.add_to(*writer_, offset_ns_, file_);
    kernel_records_.emplace(session_, stacks_, modules_, stack_quality_, *threads_, *writer_,
                            options_.callstacks_limit);
    TRY(write_records());
    return writer_->finish();
}

}  // namespace lagtrap::trace
