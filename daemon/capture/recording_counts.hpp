// Counters at one moment. The difference between the end and the start of a recording describes
// that recording.
#pragma once

#include <cstdint>

#include "bpf/recorder.h"
#include "daemon/capture/recorder_programs.hpp"
#include "daemon/events/event_monitor.hpp"
#include "daemon/unwinding/unwinder.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

struct RecordingCounts {
    lagtrap_capture_counters records{};
    std::uint64_t runs_lost = 0;
    std::uint64_t task_changes_lost = 0;  // not seen by the unwinder

    [[nodiscard]] static RecordingCounts take(const RecorderPrograms& programs,
                                              const Unwinder& unwinder,
                                              const EventMonitor& monitor);
    // Sets the counters of `quality` to the difference from `before`.
    void report_since(const RecordingCounts& before, trace::SessionQuality& quality) const;
};

// CPU time of recording at one moment, used in the same way.
struct RecordingTimes {
    std::uint64_t bpf_ns = 0;
    std::uint64_t daemon_ns = 0;

    [[nodiscard]] static RecordingTimes take(const RecorderPrograms& programs);
    void report_since(const RecordingTimes& before, trace::SessionQuality& quality) const;
};

}  // namespace lagtrap::daemon
