// The steps of a merge and what they share. Used by merge.cpp alone.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "trace/logs/record_stream.hpp"
#include "trace/logs/session.hpp"
#include "trace/merge/interner.hpp"
#include "trace/merge/merge.hpp"
#include "trace/merge/recorded_calls.hpp"
#include "trace/merge/recorded_functions.hpp"
#include "trace/merge/run_sorter.hpp"
#include "trace/merge/run_writer.hpp"
#include "trace/names/function_sources.hpp"
#include "trace/names/package_versions.hpp"
#include "trace/names/user_names.hpp"
#include "trace/perfetto/call_slices.hpp"
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
    // First pass: everything that must be known before the first packet is written.
    Status load();
    Status load_user_log();
    Status walk_copies();
    Status load_kernel_log();
    Status load_threads();
    void load_calls();
    void add_calls();
    void load_functions();
    void load_objects();
    void ask_sources();
    void fill_sources();
    void count_functions();
    void add_functions();
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
    void begin_history(std::uint64_t at_ns);
    void write_history_sample(const lagtrap_history_sample& record);
    void write_history_wait(const lagtrap_history_wait& record);
    void name_thread(std::uint32_t pid, std::uint32_t tid, const char (&comm)[LAGTRAP_COMM_BYTES], std::uint64_t at_ns);
    void write_off_cpu(std::uint32_t cpu, std::uint32_t pid, std::uint32_t tid, std::uint64_t at_ns,
                       std::uint64_t kernel_stack_id, std::uint64_t user_stack_id);
    using AddToPacket = std::function<void(protozero::pbf_writer&)>;
    void write_stack_sample(Sequence sequence, CallstackInterner& interner, const lagtrap_sample& sample,
                            const AddToPacket& add = {});
    std::string comm_of(std::uint32_t tid, std::uint32_t pid, std::uint16_t cpu, std::uint64_t at_ns);
    [[nodiscard]] std::uint64_t to_boottime(std::uint64_t monotonic) const { return monotonic + offset_ns_; }

    void take_so_far(const lagtrap_run_so_far& record);
    void take_trace_text(const lagtrap_trace_text& record);
    void add_delay(const lagtrap_run& run, const RunFacts& facts);
    Status write_system();

    std::filesystem::path directory_;
    MergeOptions options_;
    Session session_;
    std::uint64_t offset_ns_;  // boottime - monotonic, modulo 2^64
    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    StackTable stacks_;
    std::set<std::uint32_t> delayed_;  // processes that began delays
    StackQualityCounter stack_quality_{stacks_, modules_};
    RunSorter sorter_;
    using RunKey = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // event, thread, hit of the begin marker
    std::map<RunKey, lagtrap_run_so_far> so_far_;
    std::map<RunKey, std::string> trace_texts_;
    std::vector<lagtrap_thread> initial_threads_;                       // as they were listed first
    std::unordered_map<std::uint32_t, lagtrap_thread> listed_again_;    // by tid, as they were listed last
    std::unordered_map<std::uint32_t, std::uint64_t> first_switch_ns_;  // by tid
    std::optional<PacketWriter> writer_;
    std::optional<ThreadTable> threads_;
    std::optional<RunWriter> runs_;
    RecordedCalls recorded_calls_;
    std::optional<CallSlices> calls_;
    RecordedFunctions recorded_functions_;
    std::optional<CallSlices> functions_;
    FunctionSources call_sources_, function_sources_;
    std::optional<CallstackInterner> samples_;
    std::optional<CallstackInterner> off_cpu_;
    std::unordered_set<std::uint32_t> named_by_history_;           // threads that nothing else tells of
    std::optional<CallstackInterner> history_;                     // where there is one
    std::unordered_map<std::uint64_t, std::string> waited_files_;  // path by number
    std::unordered_map<std::uint16_t, std::uint32_t> running_;     // thread that was switched in last, by CPU
    std::uint64_t switch_gaps_ = 0;
    std::uint64_t last_ns_ = 0;  // when the packet written last was
    std::uint64_t next_run_ = 1;
    NamingQuality naming_;
    PackageVersions packages_;
    UserNames users_;
    SystemFile file_;
    MergeSummary summary_;
};

}  // namespace lagtrap::trace
