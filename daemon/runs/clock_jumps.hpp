// Records when the machine slept and when its wall clock was set. Durations of runs at these times
// say nothing about the program.
#pragma once

#include <cstdint>
#include <deque>

#include "core/clock.hpp"

namespace lagtrap::daemon {

// Use it on one thread. Time stamps are CLOCK_MONOTONIC.
class ClockJumps {
  public:
    // Compares the clocks. Call it often, and at once when the kernel reports that the clock was
    // set.
    void note(const ClockSnapshot& clocks);

    // trace::DirtySuspended and trace::DirtyClockStepped, if they may have happened between the two
    // times.
    [[nodiscard]] std::uint32_t reasons(std::uint64_t begin_ns, std::uint64_t end_ns) const;

    // Wall-clock time of a time stamp, as the clock showed it then.
    [[nodiscard]] std::uint64_t to_realtime_ns(std::uint64_t monotonic_ns) const;

  private:
    // It happened after `after_ns` and was seen at `seen_ns`.
    struct Jump {
        std::uint64_t after_ns = 0;
        std::uint64_t seen_ns = 0;
        std::uint32_t reasons = 0;
        ClockSnapshot before;
    };
    ClockSnapshot last_;
    std::deque<Jump> jumps_;
};

// Reads the clocks three times and returns the reading that took least time, because the thread may
// be preempted in between.
[[nodiscard]] ClockSnapshot steady_snapshot();

}  // namespace lagtrap::daemon
