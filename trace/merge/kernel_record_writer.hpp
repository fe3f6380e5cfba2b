// What the kernel log says, as packets: samples, switches, wakings, files that are waited for, and what was kept from before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <protozero/pbf_writer.hpp>

#include "bpf/records.h"
#include "trace/logs/session.hpp"
#include "trace/merge/interner.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/processes/thread_table.hpp"
#include "trace/stacks/stack_quality.hpp"
#include "trace/stacks/stack_table.hpp"

namespace lagtrap::trace {

// What it is given outlives it. Not for several threads at once.
class KernelRecordWriter {
  public:
    // Of each sequence so many callstacks are kept in memory; then it is begun anew.
    KernelRecordWriter(const Session& session, const StackTable& stacks, const ModuleTable& modules,
                       StackQualityCounter& stack_quality, ThreadTable& threads, PacketWriter& writer,
                       std::size_t callstacks_limit);

    // Says what samples were taken by. Once, before the first record; `at_ns` as in records (CLOCK_MONOTONIC).
    void begin(std::uint64_t at_ns);
    // A record of the kernel log; types that belong elsewhere are left out. In order of time.
    void write(const lagtrap_record* record);
    // Where a thread slept, as if it had left a CPU there, and for which object (as lagtrap_switch has it).
    void write_off_cpu(std::uint32_t cpu, std::uint32_t pid, std::uint32_t tid, std::uint64_t at_ns,
                       std::uint64_t kernel_stack_id, std::uint64_t user_stack_id, std::uint64_t wait_object);

    struct Counts {
        std::uint64_t samples = 0, switches = 0;
        std::uint64_t switch_gaps = 0;  // switches that are missing, as a CPU's others show
    };
    [[nodiscard]] const Counts& counts() const { return counts_; }

  private:
    using AddToPacket = std::function<void(protozero::pbf_writer&)>;
    void write_timebase(Sequence sequence, std::uint64_t at_ns);
    void write_stack_sample(Sequence sequence, CallstackInterner& interner, const lagtrap_sample& sample,
                            const AddToPacket& add = {});
    void write_sample(const lagtrap_sample& sample);
    void close_gap(const lagtrap_switch& record);
    void write_switch_event(const lagtrap_switch& record);
    void add_switch_facts(protozero::pbf_writer& packet, const lagtrap_switch& record) const;
    void write_switch(const lagtrap_switch& record);
    void write_waking(const lagtrap_waking& record);
    void write_wait_file(const lagtrap_wait_file& record);
    void write_written(const lagtrap_written& record);
    void write_group_memory(const lagtrap_group_memory& record);
    void begin_history(std::uint64_t at_ns);
    void write_history_sample(const lagtrap_history_sample& record);
    void write_history_wait(const lagtrap_history_wait& record);
    void name_thread(std::uint32_t pid, std::uint32_t tid, const char (&comm)[LAGTRAP_COMM_BYTES], std::uint64_t at_ns);
    [[nodiscard]] std::string comm_of(std::uint32_t tid, std::uint32_t pid, std::uint16_t cpu, std::uint64_t at_ns);
    [[nodiscard]] std::uint64_t to_boottime(std::uint64_t monotonic) const { return monotonic + offset_ns_; }

    const Session& session_;
    std::uint64_t offset_ns_;  // boottime - monotonic, modulo 2^64
    const StackTable& stacks_;
    const ModuleTable& modules_;
    StackQualityCounter& stack_quality_;
    ThreadTable& threads_;
    PacketWriter& writer_;
    std::size_t callstacks_limit_;
    CallstackInterner samples_, off_cpu_;
    std::optional<CallstackInterner> history_;                      // where there is one
    std::unordered_set<std::uint32_t> named_by_history_;            // threads that nothing else tells of
    std::unordered_map<std::uint64_t, std::string> waited_files_;   // path by number
    std::unordered_map<std::uint64_t, std::string> written_files_;  // the same
    std::unordered_map<std::uint16_t, std::uint32_t> running_;      // thread that was switched in last, by CPU
    Counts counts_;
};

}  // namespace lagtrap::trace
