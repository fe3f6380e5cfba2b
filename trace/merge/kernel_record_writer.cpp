#include "trace/merge/kernel_record_writer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/text.hpp"
#include "trace/logs/whole_record.hpp"
#include "trace/merge/peer_text.hpp"
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

// `names`: from the last to the first, each NUL-terminated.
std::string path_of_names(std::string_view names) {
    std::string path;
    while (!names.empty()) {
        const std::size_t end = std::min(names.find('\0'), names.size());
        path = "/" + printable(std::string(names.substr(0, end))) + path;
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return path;
}

void add_wake_cause(pbf_writer& packet, const lagtrap_waking& record) {
    if (record.cause == LAGTRAP_WAKE_UNKNOWN) return;
    pbf_writer cause(packet, perfetto::trace_packet::lagtrap_waking);
    cause.add_uint32(perfetto::lagtrap_waking::cause, record.cause);
    if (record.number != 0) cause.add_uint32(perfetto::lagtrap_waking::number, record.number);
    if (record.device[0] != 0)
        cause.add_string(perfetto::lagtrap_waking::device, comm_text(record.device));
}

// What triggers the samples of a sequence; for its first packet.
template <typename Fill>
void add_timebase(pbf_writer& packet, const char* name, Fill fill) {
    pbf_writer defaults(packet, perfetto::trace_packet::trace_packet_defaults);
    pbf_writer perf(defaults, perfetto::trace_packet_defaults::perf_sample_defaults);
    pbf_writer timebase(perf, perfetto::perf_sample_defaults::timebase);
    fill(timebase);
    timebase.add_string(perfetto::timebase::name, name);
}

}  // namespace

KernelRecordWriter::KernelRecordWriter(const Session& session, const StackTable& stacks,
                                       const ModuleTable& modules,
                                       StackQualityCounter& stack_quality, ThreadTable& threads,
                                       PacketWriter& writer, std::size_t callstacks_limit)
    : session_(session),
      offset_ns_(session.clocks.boottime_ns - session.clocks.monotonic_ns),
      stacks_(stacks),
      modules_(modules),
      stack_quality_(stack_quality),
      threads_(threads),
      writer_(writer),
      callstacks_limit_(callstacks_limit),
      samples_(stacks, modules),
      off_cpu_(stacks, modules) {}

void KernelRecordWriter::begin(std::uint64_t at_ns) {
    write_timebase(Sequence::Samples, to_boottime(at_ns));
    write_timebase(Sequence::OffCpu, to_boottime(at_ns));
}

void KernelRecordWriter::write_timebase(Sequence sequence, std::uint64_t at_ns) {
    writer_.packet(sequence, at_ns, UsesInterning::No, [&](pbf_writer& packet) {
        if (sequence == Sequence::OffCpu) {
            add_timebase(packet, "off-cpu", [](pbf_writer& timebase) {
                timebase.add_uint64(perfetto::timebase::period, 1);
                pbf_writer tracepoint(timebase, perfetto::timebase::tracepoint);
                tracepoint.add_string(perfetto::tracepoint::name, "sched:sched_switch");
            });
            return;
        }
        const bool is_history = sequence == Sequence::History;
        const std::uint64_t interval_ns =
            is_history ? session_.history_interval_ns : session_.sample_interval_ns;
        add_timebase(packet, is_history ? "history" : "cpu-clock", [&](pbf_writer& timebase) {
            timebase.add_uint64(perfetto::timebase::frequency,
                                1'000'000'000 / std::max<std::uint64_t>(interval_ns, 1));
            timebase.add_enum(perfetto::timebase::counter, perfetto::timebase::sw_cpu_clock);
        });
    });
}

void KernelRecordWriter::write_stack_sample(Sequence sequence, CallstackInterner& interner,
                                            const lagtrap_sample& sample, const AddToPacket& add) {
    namespace field = perfetto::perf_sample;
    const CallStack* kernel = stacks_.find(sample.kernel_stack_id);
    const CallStack* user = stacks_.find(sample.user_stack_id);
    if (sequence != Sequence::History)
        stack_quality_.count(sequence == Sequence::Samples ? StackUse::OnCpu : StackUse::OffCpu,
                             sample.pid, sample.kernel_stack_id, sample.user_stack_id);
    if (interner.size() >= callstacks_limit_) {
        interner.clear();
        writer_.begin_anew(sequence);
        write_timebase(sequence, to_boottime(sample.header.at_ns));
    }
    writer_.packet(
        sequence, to_boottime(sample.header.at_ns), UsesInterning::Yes, [&](pbf_writer& packet) {
            const std::uint64_t callstack = interner.intern(kernel, user, packet);
            if (add) add(packet);
            pbf_writer message(packet, perfetto::trace_packet::perf_sample);
            message.add_uint32(field::cpu, sample.header.cpu);
            message.add_uint32(field::pid, sample.pid);
            message.add_uint32(field::tid, sample.tid);
            if (callstack != 0) message.add_uint64(field::callstack_iid, callstack);
            message.add_enum(field::cpu_mode,
                             sample.in_kernel != 0 ? field::mode_kernel : field::mode_user);
        });
}

void KernelRecordWriter::write_sample(const lagtrap_sample& sample) {
    if (sample.tid == 0) return;
    threads_.at(sample.tid, sample.pid, sample.header.at_ns);
    write_stack_sample(Sequence::Samples, samples_, sample);
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
    write_stack_sample(Sequence::OffCpu, off_cpu_, sample, [&](pbf_writer& packet) {
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

void KernelRecordWriter::write_wait_file(const lagtrap_wait_file& record) {
    namespace field = perfetto::lagtrap_wait_file;
    if (record.path_bytes > 0) {
        const std::string_view after{reinterpret_cast<const char*>(&record + 1), record.path_bytes};
        const bool local = record.kind == LAGTRAP_FILE_LOCAL_PEER;
        waited_files_[record.file] = has_peer(record.kind) ? peer_text(after)
                                     : local
                                         ? printable(std::string(after.substr(0, after.find('\0'))))
                                         : path_of_names(after);
    }
    const auto known = waited_files_.find(record.file);
    writer_.packet(cpu_sequence(record.header.cpu), to_boottime(record.header.at_ns),
                   UsesInterning::No, [&](pbf_writer& packet) {
                       pbf_writer wait(packet, perfetto::trace_packet::lagtrap_wait_file);
                       wait.add_uint32(field::tid, record.tid);
                       wait.add_uint32(field::kind, record.kind);
                       if (known != waited_files_.end())
                           wait.add_string(field::path, known->second);
                       if (record.disk[0] != 0)
                           wait.add_string(field::disk, comm_text(record.disk));
                       if (record.queue_depth != 0)
                           wait.add_uint32(field::queue_depth, record.queue_depth);
                       if (record.holder_pid != 0)
                           wait.add_uint32(field::holder_pid, record.holder_pid);
                       if (is_of_socket(record.kind)) wait.add_uint64(field::socket, record.file);
                   });
}

void KernelRecordWriter::write_written(const lagtrap_written& record) {
    namespace field = perfetto::lagtrap_written;
    if (record.path_bytes > 0)
        written_files_[record.file] =
            path_of_names({reinterpret_cast<const char*>(&record + 1), record.path_bytes});
    const auto known = written_files_.find(record.file);
    writer_.packet(cpu_sequence(record.header.cpu), to_boottime(record.header.at_ns),
                   UsesInterning::No, [&](pbf_writer& packet) {
                       pbf_writer written(packet, perfetto::trace_packet::lagtrap_written);
                       if (record.file != 0) written.add_uint64(field::file, record.file);
                       if (record.bytes != 0) written.add_uint64(field::bytes, record.bytes);
                       if (known != written_files_.end())
                           written.add_string(field::path, known->second);
                       if (record.name[0] != 0)
                           written.add_string(field::name, comm_text(record.name));
                       if (record.pid != 0) written.add_uint32(field::pid, record.pid);
                       if (record.ended_ns != 0)
                           written.add_uint64(field::ended, to_boottime(record.ended_ns));
                   });
}

void KernelRecordWriter::write_group_memory(const lagtrap_group_memory& record) {
    namespace field = perfetto::lagtrap_group_memory;
    writer_.packet(cpu_sequence(record.header.cpu), to_boottime(record.header.at_ns),
                   UsesInterning::No, [&](pbf_writer& packet) {
                       pbf_writer memory(packet, perfetto::trace_packet::lagtrap_group_memory);
                       const std::string path(reinterpret_cast<const char*>(&record + 1),
                                              record.path_bytes);
                       memory.add_uint32(field::pid, record.pid);
                       memory.add_string(field::path, printable(path));
                       memory.add_uint64(field::limit_bytes, record.limit_bytes);
                       memory.add_uint64(field::used_bytes, record.used_bytes);
                       memory.add_uint64(field::file_bytes, record.file_bytes);
                       memory.add_uint64(field::anonymous_bytes, record.anonymous_bytes);
                       memory.add_uint64(field::shared_bytes, record.shared_bytes);
                       if (record.filler_pid == 0) return;
                       memory.add_uint32(field::filler_pid, record.filler_pid);
                       memory.add_uint64(field::filler_bytes, record.filler_bytes);
                   });
}

void KernelRecordWriter::write_disk_limit(const lagtrap_disk_limit& record) {
    namespace field = perfetto::lagtrap_disk_limit;
    writer_.packet(cpu_sequence(record.header.cpu), to_boottime(record.header.at_ns),
                   UsesInterning::No, [&](pbf_writer& packet) {
                       pbf_writer limit(packet, perfetto::trace_packet::lagtrap_disk_limit);
                       limit.add_uint32(field::tid, record.tid);
                       limit.add_string(field::disk, comm_text(record.disk));
                       limit.add_string(
                           field::group,
                           printable(std::string(record.group,
                                                 ::strnlen(record.group, sizeof(record.group)))));
                       limit.add_bool(field::writes, record.writes != 0);
                       if (record.bytes_per_s != 0)
                           limit.add_uint64(field::bytes_per_s, record.bytes_per_s);
                       if (record.operations_per_s != 0)
                           limit.add_uint64(field::operations_per_s, record.operations_per_s);
                   });
}

// A thread that ended before the recording began appears nowhere else.
void KernelRecordWriter::name_thread(std::uint32_t pid, std::uint32_t tid,
                                     const char (&comm)[LAGTRAP_COMM_BYTES], std::uint64_t at_ns) {
    if (tid == 0) return;
    // Its name may have changed in the meantime: every program that a shell starts gets a new one.
    const ThreadState* const known = threads_.find(tid);
    if (known != nullptr && (!named_by_history_.contains(tid) || known->name == comm_text(comm))) {
        threads_.at(tid, 0, at_ns);  // 0: the number may by now belong to another process's thread
        return;
    }
    named_by_history_.insert(tid);
    lagtrap_name name{};
    name.header = {sizeof(name), LAGTRAP_RECORD_NAME, 0, at_ns};
    name.pid = pid;
    name.tid = tid;
    std::copy(std::begin(comm), std::end(comm), name.comm);
    threads_.take(&name.header, at_ns);
}

// Most recordings have no history, and an empty sequence is of no use to readers.
void KernelRecordWriter::begin_history(std::uint64_t at_ns) {
    if (history_) return;
    history_.emplace(stacks_, modules_);
    write_timebase(Sequence::History, to_boottime(at_ns));
}

void KernelRecordWriter::write_history_sample(const lagtrap_history_sample& record) {
    const std::uint64_t at_ns = record.header.at_ns;
    begin_history(at_ns);
    name_thread(record.pid, record.pid, record.process, at_ns);
    name_thread(record.pid, record.tid, record.comm, at_ns);
    lagtrap_sample sample{};
    sample.header = record.header;
    sample.pid = record.pid;
    sample.tid = record.tid;
    sample.user_stack_id = record.user_stack_id;
    write_stack_sample(Sequence::History, *history_, sample);
}

void KernelRecordWriter::write_history_wait(const lagtrap_history_wait& record) {
    namespace field = perfetto::lagtrap_history_wait;
    const std::uint64_t at_ns = record.header.at_ns;
    begin_history(at_ns);
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
    write_stack_sample(Sequence::History, *history_, sample, [&](pbf_writer& packet) {
        pbf_writer wait(packet, perfetto::trace_packet::lagtrap_history_wait);
        wait.add_uint64(field::begin, to_boottime(record.begin_ns));
        wait.add_uint32(field::waker_tid, record.waker_tid);
        wait.add_bool(field::by_interrupt, record.by_interrupt != 0);
        wait.add_bool(field::in_run, record.in_run != 0);
    });
    if (record.waker_user_stack_id == 0) return;
    sample.pid = record.waker_pid;
    sample.tid = record.waker_tid;
    sample.kernel_stack_id = 0;
    sample.user_stack_id = record.waker_user_stack_id;
    write_stack_sample(Sequence::History, *history_, sample, [&](pbf_writer& packet) {
        pbf_writer wait(packet, perfetto::trace_packet::lagtrap_history_wait);
        wait.add_bool(field::waker_stack, true);
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
            write_wait_file(*reinterpret_cast<const lagtrap_wait_file*>(record));
            break;
        case LAGTRAP_RECORD_WRITTEN:
            write_written(*reinterpret_cast<const lagtrap_written*>(record));
            break;
        case LAGTRAP_RECORD_DISK_LIMIT:
            write_disk_limit(*reinterpret_cast<const lagtrap_disk_limit*>(record));
            break;
        case LAGTRAP_RECORD_GROUP_MEMORY:
            write_group_memory(*reinterpret_cast<const lagtrap_group_memory*>(record));
            break;
        case LAGTRAP_RECORD_HISTORY_SAMPLE:
            write_history_sample(*reinterpret_cast<const lagtrap_history_sample*>(record));
            break;
        case LAGTRAP_RECORD_HISTORY_WAIT:
            write_history_wait(*reinterpret_cast<const lagtrap_history_wait*>(record));
            break;
        default: break;
    }
}

}  // namespace lagtrap::trace
