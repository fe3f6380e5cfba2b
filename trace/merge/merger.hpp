// The steps of a merge and their shared state. Used only by merge.cpp.
#pragma once

#include <optional>
#include <set>

#include "trace/logs/record_stream.hpp"
#include "trace/logs/session.hpp"
#include "trace/merge/calls_in_trace.hpp"
#include "trace/merge/functions_in_trace.hpp"
#include "trace/merge/kernel_record_writer.hpp"
#include "trace/merge/listed_threads.hpp"
#include "trace/merge/merge.hpp"
#include "trace/merge/run_details.hpp"
#include "trace/merge/run_sorter.hpp"
#include "trace/merge/run_writer.hpp"
#include "trace/merge/thread_ends.hpp"
#include "trace/names/package_versions.hpp"
#include "trace/names/user_names.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/processes/address_spaces.hpp"
#include "trace/processes/thread_table.hpp"
#include "trace/stacks/stack_quality.hpp"
#include "trace/stacks/stack_table.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

class Merger {
  public:
    Merger(const std::filesystem::path& directory, const MergeOptions& options, Session session);
    [[nodiscard]] Result<MergeSummary> merge();

  private:
    // First pass: collects everything that must be known before the first packet is written.
    Status load();
    Status load_user_log();
    Status walk_copies();
    Status load_kernel_log();
    Status load_threads();
    Result<RecordStream> open_stream(LogKind kind);
    Result<std::optional<LogReader>> open_log(LogKind kind);

    // Second pass: reads all records again, in time order.
    Status write_trace();
    Status write_records();
    void take_run(const lagtrap_run& run);
    void count_late(const lagtrap_record* record);
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
    std::set<std::uint32_t> delayed_;  // processes with delays
    StackQualityCounter stack_quality_{stacks_, modules_};
    RunSorter sorter_;
    RunDetails run_details_;
    ListedThreads listed_;
    ThreadEnds thread_ends_;
    std::optional<PacketWriter> writer_;
    std::optional<ThreadTable> threads_;
    std::optional<RunWriter> runs_;
    CallsInTrace calls_;
    FunctionsInTrace functions_;
    std::optional<KernelRecordWriter> kernel_records_;
    std::uint64_t last_ns_ = 0;  // time of the last packet written
    std::uint64_t next_run_ = 1;
    NamingQuality naming_;
    PackageVersions packages_;
    UserNames users_;
    SystemFile file_;
    MergeSummary summary_;
};

}  // namespace lagtrap::trace
