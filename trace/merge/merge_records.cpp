// Second pass of the merge: all records in order of time, each as a packet.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/merge/merger.hpp"

namespace lagtrap::trace {
namespace {

using protozero::pbf_writer;

constexpr std::uint64_t never_ns = std::numeric_limits<std::uint64_t>::max();

// The state as the tracepoint shows it (TASK_REPORT and __trace_sched_switch_state of the kernel's linux/sched.h):
// one bit of S D T t X Z P I. Records hold the task's own state, which has further bits.
std::int64_t reported_state(std::uint32_t state) {
    constexpr std::uint32_t interruptible = 1, uninterruptible = 2, reported = 0x7f, idle = 0x402, reported_idle = 0x80;
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

std::int64_t hexadecimal_digits(std::string_view text) {
    std::uint64_t value = 0;
    for (const char c : text)
        if (c != '-') value = value << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    return static_cast<std::int64_t>(value);
}

void add_clock(pbf_writer& snapshot, std::uint32_t id, std::uint64_t at_ns) {
    pbf_writer clock(snapshot, perfetto::clock_snapshot::clocks);
    clock.add_uint32(perfetto::clock::clock_id, id);
    clock.add_uint64(perfetto::clock::timestamp, at_ns);
}

void add_attribute(pbf_writer& attributes, const char* key, std::uint64_t value) {
    pbf_writer attribute(attributes, perfetto::trace_attributes::attribute);
    attribute.add_string(perfetto::attribute::key, key);
    attribute.add_int64(perfetto::attribute::long_value, static_cast<std::int64_t>(value));
}

void add_system_info(pbf_writer& packet, const Session& session) {
    utsname names{};
    ::uname(&names);
    pbf_writer info(packet, perfetto::trace_packet::system_info);
    {
        pbf_writer kernel(info, perfetto::system_info::utsname);
        kernel.add_string(perfetto::utsname::sysname, printable(names.sysname));
        kernel.add_string(perfetto::utsname::version, printable(names.version));
        kernel.add_string(perfetto::utsname::release, printable(names.release));
        kernel.add_string(perfetto::utsname::machine, printable(names.machine));
    }
    info.add_string(perfetto::system_info::tracing_service_version, "lagtrap " + printable(session.lagtrap_version));
    info.add_uint32(perfetto::system_info::page_size, static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)));
    info.add_uint32(perfetto::system_info::num_cpus, session.cpu_count);
}

// A record that may be shorter than its struct: what it does not have is 0.
template <typename Record>
Record whole_record(const lagtrap_record* record) {
    Record whole{};
    std::memcpy(&whole, record, std::min<std::size_t>(record->size_bytes, sizeof(whole)));
    return whole;
}

// `names`: from the last to the first, each with a '\0'.
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
    if (record.device[0] != 0) cause.add_string(perfetto::lagtrap_waking::device, comm_text(record.device));
}

// What the samples of a sequence were taken by; goes into its first packet.
template <typename Fill>
void add_timebase(pbf_writer& packet, const char* name, Fill fill) {
    pbf_writer defaults(packet, perfetto::trace_packet::trace_packet_defaults);
    pbf_writer perf(defaults, perfetto::trace_packet_defaults::perf_sample_defaults);
    pbf_writer timebase(perf, perfetto::perf_sample_defaults::timebase);
    fill(timebase);
    timebase.add_string(perfetto::timebase::name, name);
}

}  // namespace

void Merger::write_machine() {
    const std::uint64_t at_ns = to_boottime(last_ns_);
    writer_->packet(Sequence::Machine, at_ns, UsesInterning::No, [&](pbf_writer& packet) {
        pbf_writer snapshot(packet, perfetto::trace_packet::clock_snapshot);
        add_clock(snapshot, perfetto::clock::boottime, session_.clocks.boottime_ns);
        snapshot.add_enum(perfetto::clock_snapshot::primary_trace_clock, perfetto::clock::boottime);
    });
    // The other clocks at the snapshot's moment. Within the snapshot, trace_processor would convert each of them once
    // and count that as a cache miss among its complaints.
    writer_->packet(Sequence::Machine, at_ns, UsesInterning::No, [&](pbf_writer& packet) {
        pbf_writer attributes(packet, perfetto::trace_packet::trace_attributes);
        add_attribute(attributes, "lagtrap.clock.boottime_ns", session_.clocks.boottime_ns);
        add_attribute(attributes, "lagtrap.clock.monotonic_ns", session_.clocks.monotonic_ns);
        add_attribute(attributes, "lagtrap.clock.realtime_ns", session_.clocks.realtime_ns);
    });
    writer_->packet(Sequence::Machine, at_ns, UsesInterning::No, [&](pbf_writer& packet) {
        pbf_writer uuid(packet, perfetto::trace_packet::trace_uuid);
        const std::string_view id = session_.id;
        uuid.add_int64(perfetto::trace_uuid::msb, hexadecimal_digits(id.substr(0, 18)));
        uuid.add_int64(perfetto::trace_uuid::lsb, hexadecimal_digits(id.substr(19)));
    });
    writer_->packet(Sequence::Machine, at_ns, UsesInterning::No,
                    [&](pbf_writer& packet) { add_system_info(packet, session_); });
    write_timebase(Sequence::Samples, at_ns);
    write_timebase(Sequence::OffCpu, at_ns);
    threads_->write_initial(initial_threads_, last_ns_);
}

void Merger::write_timebase(Sequence sequence, std::uint64_t at_ns) {
    writer_->packet(sequence, at_ns, UsesInterning::No, [&](pbf_writer& packet) {
        if (sequence == Sequence::OffCpu) {
            add_timebase(packet, "off-cpu", [](pbf_writer& timebase) {
                timebase.add_uint64(perfetto::timebase::period, 1);
                pbf_writer tracepoint(timebase, perfetto::timebase::tracepoint);
                tracepoint.add_string(perfetto::tracepoint::name, "sched:sched_switch");
            });
            return;
        }
        const bool is_history = sequence == Sequence::History;
        const std::uint64_t interval_ns = is_history ? session_.history_interval_ns : session_.sample_interval_ns;
        add_timebase(packet, is_history ? "history" : "cpu-clock", [&](pbf_writer& timebase) {
            timebase.add_uint64(perfetto::timebase::frequency, 1'000'000'000 / std::max<std::uint64_t>(interval_ns, 1));
            timebase.add_enum(perfetto::timebase::counter, perfetto::timebase::sw_cpu_clock);
        });
    });
}

void Merger::write_stack_sample(Sequence sequence, CallstackInterner& interner, const lagtrap_sample& sample,
                                const AddToPacket& add) {
    namespace field = perfetto::perf_sample;
    const CallStack* kernel = stacks_.find(sample.kernel_stack_id);
    const CallStack* user = stacks_.find(sample.user_stack_id);
    if (sequence != Sequence::History)
        stack_quality_.count(sequence == Sequence::Samples ? StackUse::OnCpu : StackUse::OffCpu, sample.pid,
                             sample.kernel_stack_id, sample.user_stack_id);
    if (interner.size() >= options_.callstacks_limit) {
        interner.clear();
        writer_->begin_anew(sequence);
        write_timebase(sequence, to_boottime(sample.header.at_ns));
    }
    writer_->packet(sequence, to_boottime(sample.header.at_ns), UsesInterning::Yes, [&](pbf_writer& packet) {
        const std::uint64_t callstack = interner.intern(kernel, user, packet);
        if (add) add(packet);
        pbf_writer message(packet, perfetto::trace_packet::perf_sample);
        message.add_uint32(field::cpu, sample.header.cpu);
        message.add_uint32(field::pid, sample.pid);
        message.add_uint32(field::tid, sample.tid);
        if (callstack != 0) message.add_uint64(field::callstack_iid, callstack);
        message.add_enum(field::cpu_mode, sample.in_kernel != 0 ? field::mode_kernel : field::mode_user);
    });
}

void Merger::write_sample(const lagtrap_sample& sample) {
    if (sample.tid == 0) return;
    threads_->at(sample.tid, sample.pid, sample.header.at_ns);
    write_stack_sample(Sequence::Samples, *samples_, sample);
    ++summary_.samples;
}

void Merger::write_off_cpu(std::uint32_t cpu, std::uint32_t pid, std::uint32_t tid, std::uint64_t at_ns,
                           std::uint64_t kernel_stack_id, std::uint64_t user_stack_id) {
    lagtrap_sample sample{};
    sample.header = {sizeof(sample), LAGTRAP_RECORD_SAMPLE, static_cast<std::uint16_t>(cpu), at_ns};
    sample.pid = pid;
    sample.tid = tid;
    sample.in_kernel = 1;
    sample.kernel_stack_id = kernel_stack_id;
    sample.user_stack_id = user_stack_id;
    write_stack_sample(Sequence::OffCpu, *off_cpu_, sample);
}

// Threads that slept from the recording's start until they were listed.
void Merger::write_sleepers() {
    for (const lagtrap_thread& first : initial_threads_) {
        const auto switched = first_switch_ns_.find(first.tid);
        const std::uint64_t switched_ns = switched == first_switch_ns_.end() ? never_ns : switched->second;
        if (switched_ns < first.header.at_ns) continue;
        // Of one that slept on, what the last look found: by then there may be tables for its stack.
        const lagtrap_thread& last = listed_again_.at(first.tid);
        const lagtrap_thread& thread = switched_ns < last.header.at_ns ? first : last;
        if (thread.state == 0 || (thread.kernel_stack_id == 0 && thread.user_stack_id == 0)) continue;
        write_off_cpu(0, thread.pid, thread.tid, std::max(last_ns_, session_.started_ns), thread.kernel_stack_id,
                      thread.user_stack_id);
    }
    first_switch_ns_.clear();
    listed_again_.clear();
}

std::string Merger::comm_of(std::uint32_t tid, std::uint32_t pid, std::uint16_t cpu, std::uint64_t at_ns) {
    if (tid == 0) return "swapper/" + std::to_string(cpu);
    return threads_->at(tid, pid, at_ns).name;
}

// A thread that leaves a CPU without having come there: at least one switch is missing, whether counted or not.
// The trace gets one in its place at the last moment possible, so that every CPU's switches form a chain.
void Merger::close_gap(const lagtrap_switch& record) {
    const auto [running, first] = running_.try_emplace(record.header.cpu, record.next_tid);
    const std::uint32_t before = std::exchange(running->second, record.next_tid);
    if (first || before == record.prev_tid) return;
    ++switch_gaps_;
    lagtrap_switch missing{};
    missing.header = record.header;
    missing.prev_tid = before;
    missing.prev_priority = record.prev_priority;
    missing.prev_state = 1;  // not known; threads mostly leave to sleep
    missing.next_pid = record.prev_pid;
    missing.next_tid = record.prev_tid;
    missing.next_priority = record.prev_priority;
    write_switch_event(missing);
}

void Merger::write_switch_event(const lagtrap_switch& record) {
    namespace field = perfetto::sched_switch;
    const std::uint64_t at_ns = record.header.at_ns;
    const std::string prev_comm = comm_of(record.prev_tid, record.prev_pid, record.header.cpu, at_ns);
    const std::string next_comm = comm_of(record.next_tid, record.next_pid, record.header.cpu, at_ns);
    writer_->packet(cpu_sequence(record.header.cpu), to_boottime(at_ns), UsesInterning::No, [&](pbf_writer& packet) {
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

// Most switches have nothing to say here.
void Merger::add_switch_facts(pbf_writer& packet, const lagtrap_switch& record) const {
    namespace field = perfetto::lagtrap_switch;
    const bool prev_throttled = (record.flags & LAGTRAP_SWITCH_PREV_THROTTLED) != 0;
    const bool concluded = (record.flags & LAGTRAP_SWITCH_CONCLUDED) != 0;
    if (record.next_policy == 0 && !prev_throttled && !concluded && record.throttled_to_ns == 0) return;
    pbf_writer facts(packet, perfetto::trace_packet::lagtrap_switch);
    if (record.next_policy != 0) facts.add_uint32(field::next_policy, record.next_policy);
    if (prev_throttled) facts.add_bool(field::prev_throttled, true);
    if (concluded) facts.add_bool(field::concluded, true);
    if (record.throttled_to_ns == 0) return;
    facts.add_uint64(field::throttled_from, to_boottime(record.throttled_from_ns));
    facts.add_uint64(field::throttled_to, to_boottime(record.throttled_to_ns));
}

void Merger::write_switch(const lagtrap_switch& record) {
    close_gap(record);
    write_switch_event(record);
    if ((record.flags & LAGTRAP_SWITCH_CONCLUDED) != 0) {
        ++switch_gaps_;
        return;
    }
    ++summary_.switches;
    if (record.prev_tid != 0 && reported_state(record.prev_state) != 0)
        write_off_cpu(record.header.cpu, record.prev_pid, record.prev_tid, record.header.at_ns, record.kernel_stack_id,
                      record.user_stack_id);
}

// The thread to blame as the waker, and what a viewer shall know of interrupts: of a packet of this machine that is the
// sender, whoever was on the CPU where it was received.
void Merger::write_waking(const lagtrap_waking& record) {
    namespace field = perfetto::sched_waking;
    const std::uint64_t at_ns = record.header.at_ns;
    const std::string comm = comm_of(record.wakee_tid, record.wakee_pid, record.header.cpu, at_ns);
    const bool sent_here = record.cause == LAGTRAP_WAKE_PACKET && record.sender_tid != 0;
    const std::uint32_t flags = sent_here                                       ? 0
                                : record.in_interrupt == LAGTRAP_INTERRUPT_SOFT ? perfetto::ftrace_event::flag_softirq
                                : record.in_interrupt != LAGTRAP_INTERRUPT_NONE ? perfetto::ftrace_event::flag_hardirq
                                                                                : 0;
    writer_->packet(cpu_sequence(record.header.cpu), to_boottime(at_ns), UsesInterning::No, [&](pbf_writer& packet) {
        {
            pbf_writer bundle(packet, perfetto::trace_packet::ftrace_events);
            bundle.add_uint32(perfetto::ftrace_event_bundle::cpu, record.header.cpu);
            pbf_writer event(bundle, perfetto::ftrace_event_bundle::event);
            event.add_uint64(perfetto::ftrace_event::timestamp, to_boottime(at_ns));
            event.add_uint32(perfetto::ftrace_event::pid, sent_here ? record.sender_tid : record.waker_tid);
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

void Merger::write_wait_file(const lagtrap_wait_file& record) {
    namespace field = perfetto::lagtrap_wait_file;
    if (record.path_bytes > 0)
        waited_files_[record.file] = path_of_names({reinterpret_cast<const char*>(&record + 1), record.path_bytes});
    const auto known = waited_files_.find(record.file);
    writer_->packet(cpu_sequence(record.header.cpu), to_boottime(record.header.at_ns), UsesInterning::No,
                    [&](pbf_writer& packet) {
                        pbf_writer wait(packet, perfetto::trace_packet::lagtrap_wait_file);
                        wait.add_uint32(field::tid, record.tid);
                        wait.add_uint32(field::kind, record.kind);
                        if (known != waited_files_.end()) wait.add_string(field::path, known->second);
                        if (record.disk[0] != 0) wait.add_string(field::disk, comm_text(record.disk));
                        if (record.queue_depth != 0) wait.add_uint32(field::queue_depth, record.queue_depth);
                        if (record.holder_pid != 0) wait.add_uint32(field::holder_pid, record.holder_pid);
                    });
}

// Who ended before the recording began is told of nowhere else.
void Merger::name_thread(std::uint32_t pid, std::uint32_t tid, const char (&comm)[LAGTRAP_COMM_BYTES],
                         std::uint64_t at_ns) {
    if (tid == 0) return;
    // It may be given another name meanwhile, as each program that a shell starts is.
    const ThreadState* const known = threads_->find(tid);
    if (known != nullptr && (!named_by_history_.contains(tid) || known->name == comm_text(comm))) return;
    named_by_history_.insert(tid);
    lagtrap_name name{};
    name.header = {sizeof(name), LAGTRAP_RECORD_NAME, 0, at_ns};
    name.pid = pid;
    name.tid = tid;
    std::copy(std::begin(comm), std::end(comm), name.comm);
    threads_->take(&name.header, at_ns);
}

// Most recordings have no history, and readers no use for an empty sequence.
void Merger::begin_history(std::uint64_t at_ns) {
    if (history_) return;
    history_.emplace(stacks_, modules_);
    write_timebase(Sequence::History, to_boottime(at_ns));
}

void Merger::write_history_sample(const lagtrap_history_sample& record) {
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

void Merger::write_history_wait(const lagtrap_history_wait& record) {
    namespace field = perfetto::lagtrap_history_wait;
    const std::uint64_t at_ns = record.header.at_ns;
    begin_history(at_ns);
    name_thread(record.pid, record.pid, record.process, at_ns);
    name_thread(record.pid, record.tid, record.comm, at_ns);
    if (record.by_interrupt == 0) name_thread(record.waker_pid, record.waker_tid, record.waker, at_ns);
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

void Merger::take_kernel_record(const lagtrap_record* record) {
    switch (record->type) {
        case LAGTRAP_RECORD_SAMPLE: write_sample(*reinterpret_cast<const lagtrap_sample*>(record)); break;
        case LAGTRAP_RECORD_SWITCH: write_switch(whole_record<lagtrap_switch>(record)); break;
        case LAGTRAP_RECORD_WAKING: write_waking(whole_record<lagtrap_waking>(record)); break;
        case LAGTRAP_RECORD_WAIT_FILE: write_wait_file(*reinterpret_cast<const lagtrap_wait_file*>(record)); break;
        case LAGTRAP_RECORD_HISTORY_SAMPLE:
            write_history_sample(*reinterpret_cast<const lagtrap_history_sample*>(record));
            break;
        case LAGTRAP_RECORD_HISTORY_WAIT:
            write_history_wait(*reinterpret_cast<const lagtrap_history_wait*>(record));
            break;
        default: break;
    }
}

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
    write_machine();
    bool sleepers_written = false;
    for (;;) {
        TRY_ASSIGN(kernel_record, kernel.peek());
        TRY_ASSIGN(const lagtrap_record* rundown_record, rundown.peek());
        TRY_ASSIGN(run, sorter_.peek());
        const std::uint64_t kernel_ns = kernel_record != nullptr ? kernel_record->at_ns : never_ns;
        const std::uint64_t rundown_ns = rundown_record != nullptr ? rundown_record->at_ns : never_ns;
        const std::uint64_t run_ns = run != nullptr ? run->begin_ns : never_ns;
        const std::uint64_t next_ns = std::min(
            {kernel_ns, rundown_ns, run_ns, runs_->next_due_ns(), calls_->next_due_ns(), functions_->next_due_ns()});
        if (!sleepers_written && next_ns >= session_.started_ns) {
            sleepers_written = true;
            last_ns_ = std::max(last_ns_, session_.started_ns);
            write_sleepers();
            continue;
        }
        // A record from before what was written last can only be one that was late.
        const std::uint64_t at_ns = next_ns == never_ns ? last_ns_ + 1 : std::max(last_ns_, next_ns);
        threads_->write_pending(at_ns);
        if (next_ns == never_ns) return success();
        if (rundown_record != nullptr && rundown_ns == next_ns) {
            threads_->take(rundown_record, at_ns);
            rundown.pop();
        } else if (runs_->next_due_ns() == next_ns) {
            runs_->write_due(next_ns);
        } else if (calls_->next_due_ns() == next_ns) {
            calls_->write_due(next_ns);
        } else if (functions_->next_due_ns() == next_ns) {
            functions_->write_due(next_ns);
        } else if (run != nullptr && run_ns == next_ns) {
            take_run(*run);
            sorter_.pop();
        } else {
            if (kernel_ns < last_ns_) {
                count_late(kernel_record);
            } else {
                take_kernel_record(kernel_record);
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
    add_calls();
    add_functions();
    samples_.emplace(stacks_, modules_);
    off_cpu_.emplace(stacks_, modules_);
    TRY(write_records());
    return writer_->finish();
}

}  // namespace lagtrap::trace
