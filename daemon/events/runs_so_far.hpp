// What is known of runs before they end.
#pragma once

#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/events/run_table.hpp"
#include "daemon/kernel/mapped_map.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// What open runs have done so far, by the counts that the programs on the scheduler's tracepoints keep of their threads.
class RunsSoFar {
  public:
    // The tables of threads whose time is counted, as timed_sets and thread_times have them. Without, nothing is known of
    // runs but of those that are waits for a CPU.
    [[nodiscard]] Status map(int sets_fd, int times_fd);
    // Of each open run what its thread's counts know now; of one that is a wait for a CPU, that it was nothing else.
    [[nodiscard]] std::vector<lagtrap_run_so_far> of(const RunTable& table,
                                                     const std::vector<settings::Event>& events) const;

  private:
    MappedMap sets_, times_;
};

// What the run's begin marker carried as id of a trace; `run` is a copy of what the slot held before and after.
[[nodiscard]] lagtrap_trace_text trace_text_of(const lagtrap_run& run, const lagtrap_slot& slot);
// The same of all open runs of events that have it.
[[nodiscard]] std::vector<lagtrap_trace_text> trace_texts(const RunTable& table,
                                                          const std::vector<settings::Event>& events);

}  // namespace lagtrap::daemon
