// When the threads of a recording ended: a run that was open then never ends.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"

namespace lagtrap::trace {

// Not for several threads at once.
class ThreadEnds {
  public:
    // A record of type LAGTRAP_RECORD_EXIT, in any order.
    void add(const lagtrap_task_change& exit) { ends_ns_[exit.tid].push_back(exit.header.at_ns); }
    // A run that a thread began and left open when it ended is open no longer than the thread, and marked as abandoned. Runs
    // that other threads may end (of values and goroutines) stay as they are.
    void cut_off(lagtrap_run& run) const;

  private:
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> ends_ns_;  // by tid; numbers are given out again
};

}  // namespace lagtrap::trace
