// What is known about runs before they end.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "bpf/event_monitor.h"
#include "core/result.hpp"
#include "daemon/events/run_table.hpp"
#include "daemon/kernel/mapped_map.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Time breakdown of open runs so far, from the counters that the scheduler programs keep for their
// threads.
class RunsSoFar {
  public:
    // Maps the tables of measured threads (timed_sets and thread_times). Without them, only runs
    // that are waits for a CPU have data.
    [[nodiscard]] Status map(int sets_fd, int times_fd);
    // For each open run, up to `limit`, what its thread's counters show now; those past their
    // deadline first. A wait for a CPU is runnable all the time.
    [[nodiscard]] std::vector<lagtrap_run_so_far> of(const RunTable& table,
                                                     const std::vector<settings::Event>& events,
                                                     std::size_t limit) const;

  private:
    [[nodiscard]] std::optional<lagtrap_run_so_far> of_run(
        const lagtrap_run& run, const lagtrap_slot& slot,
        const std::vector<settings::Event>& events) const;

    MappedMap sets_, times_;
};

// The trace id that the run's begin marker carried. `run` must be a copy of what the slot held
// before and after the call.
[[nodiscard]] lagtrap_trace_text trace_text_of(const lagtrap_run& run, const lagtrap_slot& slot);
// For open runs of events with a trace id, up to `limit`; those past their deadline first.
[[nodiscard]] std::vector<lagtrap_trace_text> trace_texts(
    const RunTable& table, const std::vector<settings::Event>& events, std::size_t limit);

}  // namespace lagtrap::daemon
