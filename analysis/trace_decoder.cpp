#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "analysis/context_decoder.hpp"
#include "analysis/interning.hpp"
#include "analysis/module_symbols.hpp"
#include "analysis/raw_trace.hpp"
#include "analysis/run_decoder.hpp"
#include "analysis/switch_decoder.hpp"
#include "analysis/task_decoder.hpp"
#include "analysis/trace_fields.hpp"
#include "analysis/trace_packet.hpp"
#include "analysis/written_decoder.hpp"

namespace lagtrap::analysis {

namespace {

using protozero::data_view;
using protozero::pbf_reader;

constexpr std::size_t path_bytes = 4096;

// A packet sequence: its interned data, and the kind of its samples.
struct Sequence {
    Interning interning;
    bool off_cpu = false;
    bool history = false;  // from before the recording
};

class TraceDecoder {
  public:
    Result<RawTrace> decode(std::string_view trace);

  private:
    void take_packet(const Packet& packet);
    void take_defaults(data_view message, Sequence& sequence) const;
    void take_ftrace(data_view message, const Packet& packet);
    void take_ftrace_event(data_view message, std::uint32_t cpu, const Packet& packet);
    void take_wait_file(data_view message, std::uint64_t at_ns);
    void take_sample(data_view message, const Packet& packet, const Sequence& sequence);
    void take_wait(data_view wait, RawSample& sample);
    void take_earlier(const RawSample& sample, data_view wait);

    RawTrace trace_;
    std::unordered_map<std::uint32_t, Sequence> sequences_;
    RunDecoder runs_;
};

void TraceDecoder::take_packet(const Packet& packet) {
    trace_.unreadable += packet.parts_left_out;
    if (!sequences_.contains(packet.sequence) && sequences_.size() > 2 * cpu_limit) {
        ++trace_.unreadable;
        return;
    }
    Sequence& sequence = sequences_[packet.sequence];
    if ((packet.flags & fields::packet::incremental_state_cleared) != 0) sequence = Sequence{};
    for (const data_view& interned : packet.interned) sequence.interning.add(interned, trace_);
    if (packet.defaults.size() > 0) take_defaults(packet.defaults, sequence);
    for (const auto& [field, message] : packet.parts) {
        switch (field) {
            case fields::packet::ftrace_events: take_ftrace(message, packet); break;
            case fields::packet::process_tree:
                take_process_tree(message, packet.at_ns, trace_);
                break;
            case fields::packet::lagtrap_wait_file: take_wait_file(message, packet.at_ns); break;
            case fields::packet::lagtrap_written:
                take_written(message, packet.at_ns, trace_);
                break;
            case fields::packet::lagtrap_context:
                take_context(message, packet.at_ns, trace_);
                break;
            case fields::packet::lagtrap_disk_limit:
                take_disk_limit(message, packet.at_ns, trace_);
                break;
            case fields::packet::lagtrap_group_memory: take_group_memory(message, trace_); break;
            case fields::packet::track_event:
                runs_.take_event(message, packet.at_ns, packet.sequence, sequence.interning,
                                 trace_);
                break;
            case fields::packet::track_descriptor: take_track(message, packet.at_ns, trace_); break;
            case fields::packet::module_symbols: add_module_symbols(message, trace_); break;
            default: take_sample(message, packet, sequence);
        }
    }
}

void TraceDecoder::take_defaults(data_view message, Sequence& sequence) const {
    pbf_reader defaults(message);
    while (defaults.next(12, protozero::pbf_wire_type::length_delimited)) {
        pbf_reader perf(defaults.get_view());
        while (perf.next(1, protozero::pbf_wire_type::length_delimited)) {
            pbf_reader timebase(perf.get_view());
            while (timebase.next()) {
                if (timebase.tag_and_type() == fields::timebase::tracepoint)
                    sequence.off_cpu = true;
                if (timebase.tag_and_type() == fields::timebase::name)
                    sequence.history = timebase.get_view() == data_view("history");
                else
                    timebase.skip();
            }
        }
    }
}

void TraceDecoder::take_ftrace(data_view message, const Packet& packet) {
    std::uint32_t cpu = 0;
    pbf_reader reader(message);
    while (reader.next()) {
        if (reader.tag_and_type() == fields::ftrace_bundle::cpu) {
            cpu = reader.get_uint32();
        } else {
            reader.skip();
        }
    }
    if (cpu >= cpu_limit) {
        ++trace_.unreadable;
        return;
    }
    pbf_reader events(message);
    while (events.next() && !trace_.too_large()) {
        if (events.tag_and_type() == fields::ftrace_bundle::event) {
            take_ftrace_event(events.get_view(), cpu, packet);
        } else {
            events.skip();
        }
    }
}

void TraceDecoder::take_ftrace_event(data_view message, std::uint32_t cpu, const Packet& packet) {
    std::uint64_t at_ns = 0;
    std::uint64_t flags = 0;
    std::uint32_t tid = 0;
    data_view switching, waking, creating;
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::ftrace_event::timestamp: at_ns = reader.get_uint64(); break;
            case fields::ftrace_event::tid: tid = reader.get_uint32(); break;
            case fields::ftrace_event::common_flags: flags = reader.get_uint64(); break;
            case fields::ftrace_event::sched_switch: switching = reader.get_view(); break;
            case fields::ftrace_event::sched_waking: waking = reader.get_view(); break;
            case fields::ftrace_event::task_newtask: creating = reader.get_view(); break;
            default: reader.skip();
        }
    }
    if (switching.size() > 0) take_switch(switching, at_ns, cpu, packet.switching, trace_);
    if (waking.size() > 0) {
        RawWaking event;
        event.at_ns = at_ns;
        event.waker_tid = tid;
        event.by_interrupt = (flags & fields::ftrace_event::in_interrupt) != 0;
        take_waking(waking, event, packet.waking, trace_);
    }
    if (creating.size() > 0) take_new_task(creating, at_ns, tid, trace_);
}

void TraceDecoder::take_wait_file(data_view message, std::uint64_t at_ns) {
    namespace field = fields::lagtrap_wait_file;
    RawWaitFile wait;
    wait.at_ns = at_ns;
    std::uint64_t kind = 0;
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case field::tid: wait.tid = reader.get_uint32(); break;
            case field::kind: kind = reader.get_uint64(); break;
            case field::path:
                wait.file.path = interned(view_of(reader.get_view()), path_bytes, trace_);
                break;
            case field::disk:
                wait.file.disk = interned(view_of(reader.get_view()), device_length_limit, trace_);
                break;
            case field::queue_depth: wait.file.queue_depth = reader.get_uint32(); break;
            case field::holder_pid: wait.file.holder_pid = reader.get_uint32(); break;
            case field::socket: wait.file.socket = reader.get_uint64(); break;
            default: reader.skip();
        }
    }
    ++trace_.records;
    if (kind > static_cast<std::uint64_t>(WaitFileKind::Nothing)) return;  // from a later version
    wait.file.kind = static_cast<WaitFileKind>(kind);
    const FailedConnect failed{at_ns, wait.tid, wait.file.path, wait.file.socket};
    if (wait.file.kind == WaitFileKind::SynRepeated) {
        trace_.repeated_syns.push_back(failed);
        return;
    }
    if (wait.file.kind == WaitFileKind::ConnectRefused) {
        trace_.refused_connects.push_back(failed);
        return;
    }
    if (wait.file.kind >= WaitFileKind::Owner && wait.file.kind <= WaitFileKind::FullListener) {
        if (wait.file.holder_pid != 0 && wait.file.holder_pid < tid_limit)
            trace_.socket_owners.push_back(
                {wait.file.socket, wait.file.path, wait.file.holder_pid, wait.file.kind});
        return;
    }
    if (wait.tid != 0 && wait.tid < tid_limit) trace_.wait_files.push_back(wait);
}

// A sample without `wait` is of a CPU. If it is not a wait, it is the stack of the last wait's
// waker.
void TraceDecoder::take_earlier(const RawSample& sample, data_view wait) {
    namespace field = fields::lagtrap_history_wait;
    if (wait.size() == 0) {
        trace_.earlier_samples.push_back({sample.at_ns, sample.pid, sample.tid, sample.stack});
        return;
    }
    EarlierWait earlier;
    earlier.end_ns = sample.at_ns;
    earlier.tid = sample.tid;
    earlier.stack = sample.stack;
    bool of_waker = false;
    pbf_reader reader(wait);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case field::begin: earlier.begin_ns = reader.get_uint64(); break;
            case field::waker_tid: earlier.waker_tid = reader.get_uint32(); break;
            case field::by_interrupt: earlier.by_interrupt = reader.get_bool(); break;
            case field::in_run: earlier.in_run = reader.get_bool(); break;
            case field::waker_stack: of_waker = reader.get_bool(); break;
            default: reader.skip();
        }
    }
    if (of_waker) {
        if (trace_.earlier_waits.empty() || trace_.earlier_waits.back().waker_tid != sample.tid)
            return;
        trace_.earlier_waits.back().waker_stack = sample.stack;
    } else if (earlier.begin_ns <= earlier.end_ns && earlier.waker_tid < tid_limit) {
        trace_.earlier_waits.push_back(earlier);
    } else {
        ++trace_.unreadable;
    }
}

void TraceDecoder::take_wait(data_view wait, RawSample& sample) {
    std::uint64_t object = 0;
    pbf_reader reader(wait);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::lagtrap_wait::object: object = reader.get_uint64(); break;
            case fields::lagtrap_wait::owner: sample.lock_owner = reader.get_uint32(); break;
            default: reader.skip();
        }
    }
    if (object != 0) sample.lock = trace_.lock_of(object);
}

void TraceDecoder::take_sample(data_view message, const Packet& packet, const Sequence& sequence) {
    RawSample sample;
    std::uint64_t stack = 0;
    sample.at_ns = packet.at_ns;
    pbf_reader reader(message);
    while (reader.next()) {
        switch (reader.tag_and_type()) {
            case fields::perf_sample::cpu: sample.cpu = reader.get_uint32(); break;
            case fields::perf_sample::pid: sample.pid = reader.get_uint32(); break;
            case fields::perf_sample::tid: sample.tid = reader.get_uint32(); break;
            case fields::perf_sample::callstack: stack = reader.get_uint64(); break;
            default: reader.skip();
        }
    }
    if (sample.tid >= tid_limit || sample.cpu >= cpu_limit) {
        ++trace_.unreadable;
        return;
    }
    const auto known = sequence.interning.stack(stack);
    if (!known && stack != 0) ++trace_.unreadable;
    sample.stack = known.value_or(0);
    ++trace_.records;
    if (sequence.history) return take_earlier(sample, packet.earlier_wait);
    if (sequence.off_cpu && packet.wait.size() > 0) take_wait(packet.wait, sample);
    (sequence.off_cpu ? trace_.off_cpu : trace_.samples).push_back(sample);
}

Result<RawTrace> TraceDecoder::decode(std::string_view trace) {
    std::uint64_t packets = 0;
    try {
        pbf_reader reader(trace.data(), trace.size());
        while (reader.next()) {
            if (reader.tag_and_type() != fields::trace::packet) {
                reader.skip();
                continue;
            }
            ++packets;
            take_packet(split_packet(reader.get_view()));
            if (trace_.too_large()) break;
        }
    } catch (const protozero::exception& problem) {
        return make_error(ErrorKind::Invalid, "the trace is damaged in packet " +
                                                  std::to_string(packets) + ": " + problem.what());
    }
    if (!trace_.too_large()) apply_module_symbols(trace_);
    if (trace_.too_large()) {
        return make_error(
            ErrorKind::TooLarge,
            "the trace has more than 128 M records or 1 GiB of names, the most that can be read");
    }
    runs_.finish(trace_);
    return std::move(trace_);
}

}  // namespace

NameId RawTrace::intern(std::string_view text) {
    if (text.empty()) return 0;
    const auto [place, added] =
        name_ids_.try_emplace(std::string(text), static_cast<NameId>(names.size()));
    if (added) {
        names.emplace_back(text);
        name_bytes += 2 * text.size();
    }
    return place->second;
}

Result<RawTrace> decode_trace(std::string_view trace) { return TraceDecoder().decode(trace); }

}  // namespace lagtrap::analysis
