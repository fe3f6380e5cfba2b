#include "trace/merge/kernel_record_writer.hpp"

#include <utility>

#include "trace/logs/whole_record.hpp"
#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {
namespace {

using protozero::pbf_writer;

// The state as the tracepoint reports it (TASK_REPORT and __trace_sched_switch_state in the
// kernel's linux/sched.h): one bit of S D T t X Z P I. Records contain the task's own state, which
// has more bits.
std::int64_t reported_state(std::uint32_t state) {
    constexpr std::uint32_t interruptible = 1, uninterruptible = 2, reported = 0x7f, idle = 0x402,
                            reported_idle = 0x80;
    constexpr std::uint32_t dead = 0x80, reported_dead = 0x10;
    if (state == 0) return 0;
    if ((state & dead) != 0) return reported_dead;
    if ((state & idle) == idle) return reported_idle;
    const std::uint32_t seen = state & reported;
    if (seen == 0) return uninterruptible;  // TASK_RTLOCK_WAIT, TASK_FROZEN
    std::uint32_t highest = interruptible;
    while ((seen & ~(highest | (highest - 1))) != 0) highest <<= 1;
    return highest;
}

void add_wake_cause(pbf_writer& packet, const lagtrap_waking& record) {
    if (record.cause == LAGTRAP_WAKE_UNKNOWN) return;
    pbf_writer cause(packet, perfetto::trace_packet::lagtrap_waking);
    cause.add_uint32(perfetto::lagtrap_waking::cause, record.cause);
    if (record.number != 0) cause.add_uint32(perfetto::lagtrap_waking::number, record.number);
    if (record.device[0] != 0)
        cause.add_string(perfetto::lagtrap_waking::device, comm_text(record.device));
}

}  // namespace

KernelRecordWriter::KernelRecordWriter(const Session& session, const StackTable& stacks,
                                       const ModuleTable& modules,
                                       StackQualityCounter& stack_quality, ThreadTable& threads,
                                       PacketWriter& writer, std::size_t callstacks_limit)
    : offset_ns_(session.clocks.boottime_ns - session.clocks.monotonic_ns),
      threads_(threads),
      writer_(writer),
      stack_samples_(session, stacks, modules, stack_quality, writer, callstacks_limit),
      history_(stack_samples_, threads, offset_ns_),
      resources_(writer, offset_ns_) {}

void KernelRecordWriter::begin(std::uint64_t at_ns) {
    stack_samples_.begin(Sequence::Samples, at_ns);
    stack_samples_.begin(Sequence::OffCpu, at_ns);
}

void KernelRecordWriter::write_sample(const lagtrap_sample& sample) {
    if (sample.tid == 0) return;
    threads_.at(sample.tid, sample.pid, sample.header.at_ns);
    stack_samples_.write(Sequence::Samples, sample);
    ++counts_.samples;
}

void KernelRecordWriter::write_off_cpu(std::uint32_t cpu, std::uint32_t pid, std::uint32_t tid,
                                       std::uint64_t at_ns, std::uint64_t kernel_stack_id,
                                       std::uint64_t user_stack_id, std::uint64_t wait_object,
                                       std::uint32_t lock_owner) {
    lagtrap_sample sample{};
    sample.header = {sizeof(sample), LAGTRAP_RECORD_SAMPLE, static_cast<std::uint16_t>(cpu), at_ns};
    sample.pid = pid;
    sample.tid = tid;
    sample.in_kernel = 1;
    sample.kernel_stack_id = kernel_stack_id;
    sample.user_stack_id = user_stack_id;
    stack_samples_.write(Sequence::OffCpu, sample, [&](pbf_writer& packet) {
        if (wait_object == 0) return;
        pbf_writer wait(packet, perfetto::trace_packet::lagtrap_wait);
        wait.add_uint64(perfetto::lagtrap_wait::object, wait_object);
        if (lock_owner != 0) wait.add_uint32(perfetto::lagtrap_wait::owner, lock_owner);
    });
}

std::string KernelRecordWriter::comm_of(std::uint32_t tid, std::uint32_t pid, std::uint16_t cpu,
                                        std::uint64_t at_ns) {
    if (tid == 0) return "swapper/" + std::to_string(cpu);
    return threads_.at(tid, pid, at_ns).name;
}

// If a thread leaves a CPU that it never came to, at least one switch is missing, counted or not.
// Insert one at the last possible moment, so that every CPU's switches form a chain.
void KernelRecordWriter::close_gap(const lagtrap_switch& record) {
    const auto [running, first] = running_.try_emplace(record.header.cpu, record.next_tid);
    const std::uint32_t before = std::exchange(running->second, record.next_tid);
    if (first || before == record.prev_tid) return;
    ++counts_.switch_gaps;
    lagtrap_switch missing{};
    missing.header = record.header;
    missing.prev_tid = before;
    missing.prev_priority = record.prev_priority;
    missing.prev_state = 1;  // unknown; threads usually stop to sleep
    missing.next_pid = record.prev_pid;
    missing.next_tid = record.prev_tid;
    missing.next_priority = record.prev_priority;
    write_switch_event(missing);
}

void KernelRecordWriter::write_switch_event(const lagtrap_switch& record) {
    namespace field = perfetto::sched_switch;
    const std::uint64_t at_ns = record.header.at_ns;
    const std::string prev_comm =
        comm_of(record.prev_tid, record.prev_pid, record.header.cpu, at_ns);
    const std::string next_comm =
        comm_of(record.next_tid, record.next_pid, record.header.cpu, at_ns);
    writer_.packet(
        cpu_sequence(record.header.cpu), to_boottime(at_ns), UsesInterning::No,
        [&](pbf_writer& packet) {
            {
                pbf_writer bundle(packet, perfetto::trace_packet::ftrace_events);
                bundle.add_uint32(perfetto::ftrace_event_bundle::cpu, record.header.cpu);
                pbf_writer event(bundle, perfetto::ftrace_event_bundle::event);
                event.add_uint64(perfetto::ftrace_event::timestamp, to_boottime(at_ns));
                event.add_uint32(perfetto::ftrace_event::pid, record.prev_tid);
                pbf_writer change(event, perfetto::ftrace_event::sched_switch);
                change.add_string(field::prev_comm, prev_comm);
                change.add_int32(field::prev_pid, static_cast<std::int32_t>(record.prev_tid));
                change.add_int32(field::prev_prio, static_cast<std::int32_t>(record.prev_priority));
                change.add_int64(field::prev_state, reported_state(record.prev_state));
                change.add_string(field::next_comm, next_comm);
                change.add_int32(field::next_pid, static_cast<std::int32_t>(record.next_tid));
                change.add_int32(field::next_prio, static_cast<std::int32_t>(record.next_priority));
            }
            add_switch_facts(packet, record);
        });
}

// Most switches have nothing to add.
void KernelRecordWriter::add_switch_facts(pbf_writer& packet, const lagtrap_switch& record) const {
    namespace field = perfetto::lagtrap_switch;
    const bool prev_throttled = (record.flags & LAGTRAP_SWITCH_PREV_THROTTLED) != 0;
    const bool prev_yielded = (record.flags & LAGTRAP_SWITCH_PREV_YIELDED) != 0;
    const bool concluded = (record.flags & LAGTRAP_SWITCH_CONCLUDED) != 0;
    const bool says_more = prev_throttled || prev_yielded || concluded;
    if (record.next_policy == 0 && !says_more && record.throttled_to_ns == 0) return;
    pbf_writer facts(packet, perfetto::trace_packet::lagtrap_switch);
    if (record.next_policy != 0) facts.add_uint32(field::next_policy, record.next_policy);
    if (prev_throttled) facts.add_bool(field::prev_throttled, true);
    if (prev_yielded) facts.add_bool(field::prev_yielded, true);
    if (concluded) facts.add_bool(field::concluded, true);
    if (record.throttled_to_ns == 0) return;
    facts.add_uint64(field::throttled_from, to_boottime(record.throttled_from_ns));
    facts.add_uint64(field::throttled_to, to_boottime(record.throttled_to_ns));
}

void KernelRecordWriter::write_switch(const lagtrap_switch& record) {
    close_gap(record);
    write_switch_event(record);
    if ((record.flags & LAGTRAP_SWITCH_CONCLUDED) != 0) {
        ++counts_.switch_gaps;
        return;
    }
    ++counts_.switches;
    const bool stopped = reported_state(record.prev_state) != 0;
    const bool yielded =
        (record.flags & LAGTRAP_SWITCH_PREV_YIELDED) != 0 && record.user_stack_id != 0;
    if (record.prev_tid != 0 && (stopped || yielded))
        write_off_cpu(record.header.cpu, record.prev_pid, record.prev_tid, record.header.at_ns,
                      record.kernel_stack_id, record.user_stack_id, record.wait_object,
                      record.lock_owner);
}

// The waker is the thread to blame, and viewers need to know about interrupts. For a packet from
// this machine, it is the sender, not the thread interrupted by its arrival.
void KernelRecordWriter::write_waking(const lagtrap_waking& record) {
    namespace field = perfetto::sched_waking;
    const std::uint64_t at_ns = record.header.at_ns;
    const std::string comm = comm_of(record.wakee_tid, record.wakee_pid, record.header.cpu, at_ns);
    const bool sent_here = record.cause == LAGTRAP_WAKE_PACKET && record.sender_tid != 0;
    const std::uint32_t flags =
        sent_here                                       ? 0
        : record.in_interrupt == LAGTRAP_INTERRUPT_SOFT ? perfetto::ftrace_event::flag_softirq
        : record.in_interrupt != LAGTRAP_INTERRUPT_NONE ? perfetto::ftrace_event::flag_hardirq
                                                        : 0;
    writer_.packet(
        cpu_sequence(record.header.cpu), to_boottime(at_ns), UsesInterning::No,
        [&](pbf_writer& packet) {
            {
                pbf_writer bundle(packet, perfetto::trace_packet::ftrace_events);
                bundle.add_uint32(perfetto::ftrace_event_bundle::cpu, record.header.cpu);
                pbf_writer event(bundle, perfetto::ftrace_event_bundle::event);
                event.add_uint64(perfetto::ftrace_event::timestamp, to_boottime(at_ns));
                event.add_uint32(perfetto::ftrace_event::pid,
                                 sent_here ? record.sender_tid : record.waker_tid);
                if (flags != 0) event.add_uint32(perfetto::ftrace_event::common_flags, flags);
                pbf_writer waking(event, perfetto::ftrace_event::sched_waking);
                waking.add_string(field::comm, comm);
                waking.add_int32(field::pid, static_cast<std::int32_t>(record.wakee_tid));
                waking.add_int32(field::prio, static_cast<std::int32_t>(record.wakee_priority));
                waking.add_int32(field::success, 1);
                waking.add_int32(field::target_cpu, static_cast<std::int32_t>(record.target_cpu));
            }
            add_wake_cause(packet, record);
        });
}

void KernelRecordWriter::write(const lagtrap_record* record) {
    switch (record->type) {
        case LAGTRAP_RECORD_SAMPLE:
            write_sample(*reinterpret_cast<const lagtrap_sample*>(record));
            break;
        case LAGTRAP_RECORD_SWITCH: write_switch(whole_record<lagtrap_switch>(record)); break;
        case LAGTRAP_RECORD_WAKING: write_waking(whole_record<lagtrap_waking>(record)); break;
        case LAGTRAP_RECORD_WAIT_FILE:
            resources_.write(*reinterpret_cast<const lagtrap_wait_file*>(record));
            break;
        case LAGTRAP_RECORD_WRITTEN:
            resources_.write(*reinterpret_cast<const lagtrap_written*>(record));
            break;
        case LAGTRAP_RECORD_DISK_LIMIT:
            resources_.write(*reinterpret_cast<const lagtrap_disk_limit*>(record));
            break;
        case LAGTRAP_RECORD_GROUP_MEMORY:
            resources_.write(*reinterpret_cast<const lagtrap_group_memory*>(record));
            break;
        case LAGTRAP_RECORD_HISTORY_SAMPLE:
            history_.write(*reinterpret_cast<const lagtrap_history_sample*>(record));
            break;
        case LAGTRAP_RECORD_HISTORY_WAIT:
            history_.write(*reinterpret_cast<const lagtrap_history_wait*>(record));
            break;
        default: break;
    }
}

}  // namespace lagtrap::trace
