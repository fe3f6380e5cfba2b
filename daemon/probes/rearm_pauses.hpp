// How often a file that changes again and again has its events armed anew.
#pragma once

#include <chrono>

namespace lagtrap::daemon {

// Of one file. The first change is answered at once; those that follow after pauses, each twice as long as the one before,
// up to the longest. A file that is left alone for as long as its last pause has the shortest again.
class RearmPauses {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds shortest{20};
    static constexpr std::chrono::seconds longest{3600};

    [[nodiscard]] bool over(Clock::time_point now) const { return now >= next_; }
    // 0 s: it may be armed now.
    [[nodiscard]] std::chrono::seconds left(Clock::time_point now) const;
    // Its events are armed anew, now.
    void begin(Clock::time_point now);
    // How often that was.
    [[nodiscard]] unsigned count() const { return count_; }

  private:
    Clock::time_point next_{};
    std::chrono::seconds pause_{0};
    unsigned count_ = 0;
};

}  // namespace lagtrap::daemon
