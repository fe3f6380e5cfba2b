// Writes samples of call stacks as packets: those taken on CPUs, those of threads that left a CPU,
// and those of the history. Each of these three has its own packet sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <protozero/pbf_writer.hpp>

#include "bpf/records.h"
#include "trace/logs/session.hpp"
#include "trace/merge/interner.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/stacks/stack_quality.hpp"
#include "trace/stacks/stack_table.hpp"

namespace lagtrap::trace {

// Sequences are Samples, OffCpu and History. Everything passed in must outlive it. Not thread-safe.
class StackSamples {
  public:
    // `callstacks_limit` as in KernelRecordWriter.
    StackSamples(const Session& session, const StackTable& stacks, const ModuleTable& modules,
                 StackQualityCounter& stack_quality, PacketWriter& writer,
                 std::size_t callstacks_limit);

    // Writes how the samples of a sequence are triggered. Call it before the sequence's first
    // sample; `at_ns` as in records (CLOCK_MONOTONIC).
    void begin(Sequence sequence, std::uint64_t at_ns);
    // Writes a sample; `add` adds to its packet. Counts its stacks' quality, except in the history.
    using AddToPacket = std::function<void(protozero::pbf_writer&)>;
    void write(Sequence sequence, const lagtrap_sample& sample, const AddToPacket& add = {});

  private:
    [[nodiscard]] CallstackInterner& interner_of(Sequence sequence);

    const Session& session_;
    std::uint64_t offset_ns_;  // boottime - monotonic, modulo 2^64
    const StackTable& stacks_;
    StackQualityCounter& stack_quality_;
    PacketWriter& writer_;
    std::size_t callstacks_limit_;
    CallstackInterner samples_, off_cpu_, history_;
};

}  // namespace lagtrap::trace
