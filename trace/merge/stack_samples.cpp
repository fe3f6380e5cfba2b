#include "trace/merge/stack_samples.hpp"

#include <algorithm>

#include "trace/perfetto/perfetto_fields.hpp"

namespace lagtrap::trace {
namespace {

using protozero::pbf_writer;

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

StackSamples::StackSamples(const Session& session, const StackTable& stacks,
                           const ModuleTable& modules, StackQualityCounter& stack_quality,
                           PacketWriter& writer, std::size_t callstacks_limit)
    : session_(session),
      offset_ns_(session.clocks.boottime_ns - session.clocks.monotonic_ns),
      stacks_(stacks),
      stack_quality_(stack_quality),
      writer_(writer),
      callstacks_limit_(callstacks_limit),
      samples_(stacks, modules),
      off_cpu_(stacks, modules),
      history_(stacks, modules) {}

void StackSamples::begin(Sequence sequence, std::uint64_t at_ns) {
    writer_.packet(sequence, at_ns + offset_ns_, UsesInterning::No, [&](pbf_writer& packet) {
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

CallstackInterner& StackSamples::interner_of(Sequence sequence) {
    return sequence == Sequence::Samples  ? samples_
           : sequence == Sequence::OffCpu ? off_cpu_
                                          : history_;
}

void StackSamples::write(Sequence sequence, const lagtrap_sample& sample, const AddToPacket& add) {
    namespace field = perfetto::perf_sample;
    const CallStack* kernel = stacks_.find(sample.kernel_stack_id);
    const CallStack* user = stacks_.find(sample.user_stack_id);
    if (sequence != Sequence::History)
        stack_quality_.count(sequence == Sequence::Samples ? StackUse::OnCpu : StackUse::OffCpu,
                             sample.pid, sample.kernel_stack_id, sample.user_stack_id);
    CallstackInterner& interner = interner_of(sequence);
    if (interner.size() >= callstacks_limit_) {
        interner.clear();
        writer_.begin_anew(sequence);
        begin(sequence, sample.header.at_ns);
    }
    writer_.packet(
        sequence, sample.header.at_ns + offset_ns_, UsesInterning::Yes, [&](pbf_writer& packet) {
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

}  // namespace lagtrap::trace
