// Writes the records of the kernel log as packets: samples, switches, wakeups, awaited files, and
// the history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include <protozero/pbf_writer.hpp>

#include "bpf/records.h"
#include "trace/logs/session.hpp"
#include "trace/merge/history_writer.hpp"
#include "trace/merge/resource_record_writer.hpp"
#include "trace/merge/stack_samples.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/processes/thread_table.hpp"
#include "trace/stacks/stack_quality.hpp"
#include "trace/stacks/stack_table.hpp"

namespace lagtrap::trace {

// Everything passed in must outlive it. Not thread-safe.
class KernelRecordWriter {
  public:
    // `callstacks_limit` is the number of call stacks interned per sequence; beyond it the
    // sequence's state is cleared.
    KernelRecordWriter(const Session& session, const StackTable& stacks, const ModuleTable& modules,
                       StackQualityCounter& stack_quality, ThreadTable& threads,
                       PacketWriter& writer, std::size_t callstacks_limit);
    KernelRecordWriter(const KernelRecordWriter&) = delete;
    KernelRecordWriter& operator=(const KernelRecordWriter&) = delete;

    // Writes how samples are triggered. Call once, before the first record; `at_ns` as in records
    // (CLOCK_MONOTONIC).
    void begin(std::uint64_t at_ns);
    // Writes a record of the kernel log; ignores other types. Call in time order.
    void write(const lagtrap_record* record);
    // Writes where a thread slept, as if it had just left a CPU there, and the object it waited for
    // (as in lagtrap_switch).
    void write_off_cpu(std::uint32_t cpu, std::uint32_t pid, std::uint32_t tid, std::uint64_t at_ns,
                       std::uint64_t kernel_stack_id, std::uint64_t user_stack_id,
                       std::uint64_t wait_object, std::uint32_t lock_owner);

    struct Counts {
        std::uint64_t samples = 0, switches = 0;
        std::uint64_t switch_gaps = 0;  // missing switches, inferred from the others of the CPU
    };
    [[nodiscard]] const Counts& counts() const { return counts_; }

  private:
    void write_sample(const lagtrap_sample& sample);
    void close_gap(const lagtrap_switch& record);
    void write_switch_event(const lagtrap_switch& record);
    void add_switch_facts(protozero::pbf_writer& packet, const lagtrap_switch& record) const;
    void write_switch(const lagtrap_switch& record);
    void write_waking(const lagtrap_waking& record);
    [[nodiscard]] std::string comm_of(std::uint32_t tid, std::uint32_t pid, std::uint16_t cpu,
                                      std::uint64_t at_ns);
    [[nodiscard]] std::uint64_t to_boottime(std::uint64_t monotonic) const {
        return monotonic + offset_ns_;
    }

    std::uint64_t offset_ns_;  // boottime - monotonic, modulo 2^64
    ThreadTable& threads_;
    PacketWriter& writer_;
    StackSamples stack_samples_;
    HistoryWriter history_;
    ResourceRecordWriter resources_;
    // last thread switched in, by CPU
    std::unordered_map<std::uint16_t, std::uint32_t> running_;
    Counts counts_;
};

}  // namespace lagtrap::trace
