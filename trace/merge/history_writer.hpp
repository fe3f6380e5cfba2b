// Writes the records of the time before the breach: samples and waits, which name their threads
// themselves because those may have ended before the recording began.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "bpf/records.h"
#include "trace/merge/stack_samples.hpp"
#include "trace/processes/thread_table.hpp"

namespace lagtrap::trace {

// The references must outlive it. Not thread-safe.
class HistoryWriter {
  public:
    // `offset_ns` is CLOCK_BOOTTIME - CLOCK_MONOTONIC, modulo 2^64.
    HistoryWriter(StackSamples& stack_samples, ThreadTable& threads, std::uint64_t offset_ns)
        : stack_samples_(stack_samples), threads_(threads), offset_ns_(offset_ns) {}

    // Call in time order. The first record begins the sequence.
    void write(const lagtrap_history_sample& record);
    void write(const lagtrap_history_wait& record);

  private:
    void begin(std::uint64_t at_ns);
    void name_thread(std::uint32_t pid, std::uint32_t tid, const char (&comm)[LAGTRAP_COMM_BYTES],
                     std::uint64_t at_ns);

    StackSamples& stack_samples_;
    ThreadTable& threads_;
    std::uint64_t offset_ns_;
    bool has_begun_ = false;
    // threads that appear nowhere else
    std::unordered_set<std::uint32_t> named_here_;
};

}  // namespace lagtrap::trace
