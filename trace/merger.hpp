// The steps of a merge and what they share. Used by merge.cpp alone.
#pragma once

#include <optional>
#include <unordered_map>

#include "trace/address_spaces.hpp"
#include "trace/interner.hpp"
#include "trace/merge.hpp"
#include "trace/packet_writer.hpp"
#include "trace/record_stream.hpp"
#include "trace/run_sorter.hpp"
#include "trace/run_writer.hpp"
#include "trace/session.hpp"
#include "trace/stack_quality.hpp"
#include "trace/stack_table.hpp"
#include "trace/system_file.hpp"
#include "trace/thread_table.hpp"

namespace lagtrap::trace {

class Merger {
  public:
    Merger(const std::filesystem::path& directory, const MergeOptions& options, Session session);
    [[nodiscard]] Result<MergeSummary> merge();

  private:
    // First pass: everything that must be known before the first packet is written.
    Status load();
    Status load_user_log();
    Status load_kernel_log();
    Status load_threads();
    Result<RecordStream> open_stream(LogKind kind);
    Result<std::optional<LogReader>> open_log(LogKind kind);

    // Second pass: all records once more, in order of time.
    Status write_trace();
    Status write_records();
    void write_machine();
    void write_timebase(Sequence sequence, std::uint64_t at_ns);
    void write_sleepers();
    void take_kernel_record(const lagtrap_record* record);
    void take_run(const lagtrap_run& run);
    void count_late(const lagtrap_record* record);
    void close_gap(const lagtrap_switch& record);
    void write_switch_event(const lagtrap_switch& record);
    void add_switch_facts(protozero::pbf_writer& packet, const lagtrap_switch& record) const;
    void write_sample(const lagtrap_sample& sample);
    void write_switch(const lagtrap_switch& record);
    void write_waking(const lagtrap_waking& record);
    void write_wait_file(const lagtrap_wait_file& record);
    void write_off_cpu(std::uint32_t cpu, std::uint32_t pid, std::uint32_t tid, std::uint64_t at_ns,
                       std::uint64_t kernel_stack_id, std::uint64_t user_stack_id);
    void write_stack_sample(Sequence sequence, CallstackInterner& interner, const lagtrap_sample& sample);
    std::string comm_of(std::uint32_t tid, std::uint32_t pid, std::uint16_t cpu, std::uint64_t at_ns);
    [[nodiscard]] std::uint64_t to_boottime(std::uint64_t monotonic) const { return monotonic + offset_ns_; }

    void add_delay(const lagtrap_run& run, const RunFacts& facts);
    Status write_system();

    std::filesystem::path directory_;
    MergeOptions options_;
    Session session_;
    std::uint64_t offset_ns_;  // boottime - monotonic, modulo 2^64
    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    StackTable stacks_;
    StackQualityCounter stack_quality_{stacks_, modules_};
    RunSorter sorter_;
    std::vector<lagtrap_thread> initial_threads_;
    std::unordered_map<std::uint32_t, std::uint64_t> first_switch_ns_;  // by tid
    std::optional<PacketWriter> writer_;
    std::optional<ThreadTable> threads_;
    std::optional<RunWriter> runs_;
    std::optional<CallstackInterner> samples_;
    std::optional<CallstackInterner> off_cpu_;
    std::unordered_map<std::uint64_t, std::string> waited_files_;  // path by number
    std::unordered_map<std::uint16_t, std::uint32_t> running_;     // thread that was switched in last, by CPU
    std::uint64_t switch_gaps_ = 0;
    std::uint64_t last_ns_ = 0;  // when the packet written last was
    std::uint64_t next_run_ = 1;
    NamingQuality naming_;
    SystemFile file_;
    MergeSummary summary_;
};

}  // namespace lagtrap::trace
