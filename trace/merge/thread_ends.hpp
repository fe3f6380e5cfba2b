// Tracks when the threads of a recording ended, because a run that was open then never ends.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"

namespace lagtrap::trace {

// Not thread-safe.
class ThreadEnds {
  public:
    // Adds a record of type LAGTRAP_RECORD_EXIT; call in any order.
    void add(const lagtrap_task_change& exit) { ends_ns_[exit.tid].push_back(exit.header.at_ns); }
    // If the thread that began the run ended while the run was open, ends the run with the thread
    // and marks it as abandoned. Does not change runs that other threads may end (keyed by a value,
    // or of a goroutine).
    void cut_off(lagtrap_run& run) const;

  private:
    // by tid, which may be reused
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> ends_ns_;
};

}  // namespace lagtrap::trace
