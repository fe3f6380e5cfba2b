// Decides when a recording ends. Only the end of a wait shows who ended it, so a recording of a run
// that is still open after the planned length goes on until the run has ended. Uses neither a clock
// nor the kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "daemon/capture/awaited_run.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

struct CaptureLengths {
    std::chrono::nanoseconds planned;
    std::chrono::nanoseconds longest;  // limit while the run is open
};

class RecordingLength {
  public:
    using Clock = std::chrono::steady_clock;

    struct Limits {
        Clock::time_point planned_end;
        Clock::time_point last_end;  // while the run is open
        bool follows_run = false;    // the run was reported at its deadline, so it may be open
        std::uint64_t size_limit_bytes = 0;
    };
    // How often to look for the run in the table of open runs, in case nobody reports its end.
    static constexpr std::chrono::seconds look_interval{1};

    RecordingLength() = default;
    explicit RecordingLength(const Limits& limits) : limits_(limits) {}

    // When the recording ends unless something happens before; then call at().
    [[nodiscard]] Clock::time_point ends() const {
        return extended_ ? limits_.last_end : limits_.planned_end;
    }
    // True once the recording goes on for its run alone.
    [[nodiscard]] bool extended() const { return extended_; }
    // True if at() needs the run's state from the table of open runs; records of its end are enough
    // otherwise.
    [[nodiscard]] bool is_look_due(Clock::time_point now) const;
    // Whether and why the recording ends now. `run` matters once is_look_due() or extended().
    [[nodiscard]] std::optional<trace::RecordingEnd> at(Clock::time_point now,
                                                        std::uint64_t written_bytes,
                                                        AwaitedRun::State run);

  private:
    [[nodiscard]] bool may_extend() const {
        return limits_.follows_run && limits_.last_end > limits_.planned_end;
    }

    Limits limits_;
    bool extended_ = false;
    Clock::time_point next_look_;
};

}  // namespace lagtrap::daemon
