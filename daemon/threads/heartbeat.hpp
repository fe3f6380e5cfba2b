// Whether a thread still goes round its loop: who looks after the daemon is told that all is well only as long as it does.
#pragma once

#include <atomic>
#include <chrono>

namespace lagtrap::daemon {

// Free to be used from any thread.
class Heartbeat {
  public:
    using Clock = std::chrono::steady_clock;

    void beat(Clock::time_point now = Clock::now()) { last_.store(now.time_since_epoch().count()); }
    // Since the last beat.
    [[nodiscard]] Clock::duration silence(Clock::time_point now = Clock::now()) const {
        return now.time_since_epoch() - Clock::duration(last_.load());
    }

  private:
    std::atomic<Clock::rep> last_{Clock::now().time_since_epoch().count()};
};

}  // namespace lagtrap::daemon
