#include "trace/merge/history_writer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {
namespace {

using protozero::pbf_writer;

}  // namespace

// A thread that ended before the recording began appears nowhere else.
void HistoryWriter::name_thread(std::uint32_t pid, std::uint32_t tid,
                                const char (&comm)[LAGTRAP_COMM_BYTES], std::uint64_t at_ns) {
    if (tid == 0) return;
    // Its name may have changed in the meantime: every program that a shell starts gets a new one.
    const ThreadState* const known = threads_.find(tid);
    if (known != nullptr && (!named_here_.contains(tid) || known->name == comm_text(comm))) {
        threads_.at(tid, 0, at_ns);  // 0: the number may by now belong to another process's thread
        return;
    }
    named_here_.insert(tid);
    lagtrap_name name{};
    name.header = {sizeof(name), LAGTRAP_RECORD_NAME, 0, at_ns};
    name.pid = pid;
    name.tid = tid;
    std::copy(std::begin(comm), std::end(comm), name.comm);
    threads_.take(&name.header, at_ns);
}

// Most recordings have no history, and an empty sequence is of no use to readers.
void HistoryWriter::begin(std::uint64_t at_ns) {
    if (!std::exchange(has_begun_, true)) stack_samples_.begin(Sequence::History, at_ns);
}

void HistoryWriter::write(const lagtrap_history_sample& record) {
    const std::uint64_t at_ns = record.header.at_ns;
    begin(at_ns);
    name_thread(record.pid, record.pid, record.process, at_ns);
    name_thread(record.pid, record.tid, record.comm, at_ns);
    lagtrap_sample sample{};
    sample.header = record.header;
    sample.pid = record.pid;
    sample.tid = record.tid;
    sample.user_stack_id = record.user_stack_id;
    stack_samples_.write(Sequence::History, sample);
}

void HistoryWriter::write(const lagtrap_history_wait& record) {
    namespace field = perfetto::lagtrap_history_wait;
    const std::uint64_t at_ns = record.header.at_ns;
    begin(at_ns);
    name_thread(record.pid, record.pid, record.process, at_ns);
    name_thread(record.pid, record.tid, record.comm, at_ns);
    if (record.by_interrupt == 0)
        name_thread(record.waker_pid, record.waker_tid, record.waker, at_ns);
    lagtrap_sample sample{};
    sample.header = record.header;
    sample.pid = record.pid;
    sample.tid = record.tid;
    sample.in_kernel = 1;
    sample.kernel_stack_id = record.kernel_stack_id;
    sample.user_stack_id = record.user_stack_id;
    stack_samples_.write(Sequence::History, sample, [&](pbf_writer& packet) {
        pbf_writer wait(packet, perfetto::trace_packet::lagtrap_history_wait);
        wait.add_uint64(field::begin, record.begin_ns + offset_ns_);
        wait.add_uint32(field::waker_tid, record.waker_tid);
        wait.add_bool(field::by_interrupt, record.by_interrupt != 0);
        wait.add_bool(field::in_run, record.in_run != 0);
    });
    if (record.waker_user_stack_id == 0) return;
    sample.pid = record.waker_pid;
    sample.tid = record.waker_tid;
    sample.kernel_stack_id = 0;
    sample.user_stack_id = record.waker_user_stack_id;
    stack_samples_.write(Sequence::History, sample, [&](pbf_writer& packet) {
        pbf_writer wait(packet, perfetto::trace_packet::lagtrap_history_wait);
        wait.add_bool(field::waker_stack, true);
    });
}

}  // namespace lagtrap::trace
