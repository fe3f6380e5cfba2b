// What is counted of recordings, at one moment: a recording's own is the difference between its end and its begin.
#pragma once

#include <cstdint>

#include "bpf/collector.h"
#include "daemon/capture/recorder_programs.hpp"
#include "daemon/events/listener.hpp"
#include "daemon/unwinding/unwinder.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

struct RecordingCounts {
    lagtrap_capture_counters records{};
    std::uint64_t runs_lost = 0;
    std::uint64_t task_changes_lost = 0;  // that the unwinder did not see

    [[nodiscard]] static RecordingCounts take(const RecorderPrograms& programs, const Unwinder& unwinder,
                                              const Listener& listener);
    // What came between `before` and this.
    void tell_since(const RecordingCounts& before, trace::SessionQuality& quality) const;
};

// Processor time that recording has taken at one moment, in the same way.
struct RecordingTimes {
    std::uint64_t bpf_ns = 0;
    std::uint64_t daemon_ns = 0;

    [[nodiscard]] static RecordingTimes take(const RecorderPrograms& programs);
    void tell_since(const RecordingTimes& before, trace::SessionQuality& quality) const;
};

}  // namespace lagtrap::daemon
