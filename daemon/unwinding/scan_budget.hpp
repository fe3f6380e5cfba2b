// Limits how often all processes are read again because events were lost. A user who makes more
// events than the rings hold could otherwise keep a CPU busy with that.
#pragma once

#include <algorithm>
#include <chrono>

namespace lagtrap::daemon {

// A leaky bucket: scans fill it by their duration, and it drains at a share of a CPU. Not
// thread-safe.
class ScanBudget {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr int part_of_cpu = 20;  // the share is 1/N
    static constexpr std::chrono::milliseconds burst{1'000};

    [[nodiscard]] bool may_scan(Clock::time_point now) {
        content_ = std::max(Clock::duration{0}, content_ - (now - drained_) / part_of_cpu);
        drained_ = now;
        return content_ < burst;
    }
    void charge(Clock::duration cost) { content_ += cost; }

  private:
    Clock::duration content_{0};
    Clock::time_point drained_{};
};

}  // namespace lagtrap::daemon
