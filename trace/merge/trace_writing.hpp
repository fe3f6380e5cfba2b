// The second pass of a merge: reads all records again and writes them as packets, in time order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "core/result.hpp"
#include "trace/merge/capture_contents.hpp"
#include "trace/merge/delay_list.hpp"
#include "trace/merge/kernel_record_writer.hpp"
#include "trace/merge/run_writer.hpp"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/processes/thread_table.hpp"
#include "trace/stacks/stack_quality.hpp"

namespace lagtrap::trace {

class TraceWriting {
  public:
    explicit TraceWriting(CaptureContents& contents) : contents_(contents), delays_(contents) {}
    // Writes the trace, and adds to the system file what the records say. Call once.
    [[nodiscard]] Status write(const std::filesystem::path& file);

    // The functions below are for after write().
    [[nodiscard]] const MergeSummary& summary() const { return summary_; }
    [[nodiscard]] std::uint64_t last_ns() const { return last_ns_; }  // time of the last packet

  private:
    [[nodiscard]] Status write_records();
    void write_kernel_record(const lagtrap_record* record);
    void take_run(const lagtrap_run& run);
    void count_late(const lagtrap_record* record);
    void sum_up();

    CaptureContents& contents_;
    StackQualityCounter stack_quality_{contents_.stacks, contents_.modules};
    DelayList delays_;
    std::optional<PacketWriter> writer_;
    std::optional<ThreadTable> threads_;
    std::optional<RunWriter> runs_;
    std::optional<KernelRecordWriter> kernel_records_;
    std::uint64_t last_ns_ = 0;
    std::uint64_t next_run_ = 1;
    MergeSummary summary_;
};

}  // namespace lagtrap::trace
