// When the machine slept and when its wall clock was set: what makes a run's duration say nothing of the program.
#pragma once

#include <cstdint>
#include <deque>

#include "core/clock.hpp"

namespace lagtrap::daemon {

// One thread's. Time stamps are CLOCK_MONOTONIC.
class ClockJumps {
  public:
    // Looks at the clocks; to be called often, and at once when the kernel says that they were set.
    void note(const ClockSnapshot& clocks);

    // trace::DirtySuspended and trace::DirtyClockStepped, of what may have happened between two times.
    [[nodiscard]] std::uint32_t reasons(std::uint64_t begin_ns, std::uint64_t end_ns) const;

    // Wall-clock time of a time stamp, as the clock was then.
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

// Three looks at the clocks, the one with the least time between its readings: a thread may lose its CPU in between.
[[nodiscard]] ClockSnapshot steady_snapshot();

}  // namespace lagtrap::daemon
