// How long to wait after a process could not be started. Uses no clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace lagtrap::binaries {

// Pauses double with each failure up to the longest. Use from one thread at a time.
class StartPauses {
  public:
    using Clock = std::chrono::steady_clock;

    StartPauses(std::chrono::milliseconds first, std::chrono::milliseconds longest)
        : first_(first), longest_(longest) {}

    [[nodiscard]] bool may_start(Clock::time_point now) const { return now >= next_start_; }
    void note_success() { pause_ = {}; }
    void note_failure(Clock::time_point now) {
        pause_ = std::min(std::max(2 * pause_, first_), longest_);
        next_start_ = now + pause_;
    }

  private:
    std::chrono::milliseconds first_, longest_;
    std::chrono::milliseconds pause_{0};  // 0 after a successful start
    Clock::time_point next_start_{};
};

}  // namespace lagtrap::binaries
