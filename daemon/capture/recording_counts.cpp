#include "daemon/capture/recording_counts.hpp"

#include "daemon/budget/own_use.hpp"

namespace lagtrap::daemon {

RecordingCounts RecordingCounts::take(const RecorderPrograms& programs, const Unwinder& unwinder,
                                      const EventMonitor& monitor) {
    RecordingCounts counts{programs.counters(), 0, unwinder.events_lost()};
    for (const auto& [name, counters] : monitor.all_counters())
        counts.runs_lost += counters.records_lost;
    return counts;
}

void RecordingCounts::report_since(const RecordingCounts& before,
                                   trace::SessionQuality& quality) const {
    quality.samples_taken = records.samples - before.records.samples;
    quality.samples_lost = records.samples_lost - before.records.samples_lost;
    quality.switches_lost = records.switches_lost - before.records.switches_lost;
    quality.wakings_lost = records.wakings_lost - before.records.wakings_lost;
    quality.contexts_lost = records.contexts_lost - before.records.contexts_lost;
    quality.contexts_unreadable = records.contexts_unreadable - before.records.contexts_unreadable;
    quality.stacks_lost = records.stacks_lost - before.records.stacks_lost;
    quality.runs_lost = runs_lost - before.runs_lost;
    quality.task_changes_lost = (task_changes_lost - before.task_changes_lost) +
                                (records.threads_lost - before.records.threads_lost);
}

RecordingTimes RecordingTimes::take(const RecorderPrograms& programs) {
    return {programs.run_time().all_ns, daemon_cpu_ns()};
}

void RecordingTimes::report_since(const RecordingTimes& before,
                                  trace::SessionQuality& quality) const {
    quality.bpf_run_time_ns = bpf_ns - before.bpf_ns;
    quality.daemon_cpu_ns = daemon_ns - before.daemon_ns;
}

}  // namespace lagtrap::daemon
