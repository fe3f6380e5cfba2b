// Limits how often a frequently changing file has its events armed again.
#pragma once

#include <chrono>

namespace lagtrap::daemon {

// For one file. The first change is handled at once, later ones after pauses that double up to the
// longest. The pause is reset if the file does not change for as long as its last pause.
class RearmPauses {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds shortest{20};
    static constexpr std::chrono::seconds longest{3600};

    [[nodiscard]] bool over(Clock::time_point now) const { return now >= next_; }
    // 0 s if it may be armed now.
    [[nodiscard]] std::chrono::seconds left(Clock::time_point now) const;
    // Call it when the events are armed again.
    void begin(Clock::time_point now);
    // How often begin() was called.
    [[nodiscard]] unsigned count() const { return count_; }

  private:
    Clock::time_point next_{};
    std::chrono::seconds pause_{0};
    unsigned count_ = 0;
};

}  // namespace lagtrap::daemon
