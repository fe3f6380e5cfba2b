// Shows whether a thread still runs its loop. The watchdog is fed only while it does.
#pragma once

#include <atomic>
#include <chrono>

namespace lagtrap::daemon {

// Thread-safe.
class Heartbeat {
  public:
    using Clock = std::chrono::steady_clock;

    void beat(Clock::time_point now = Clock::now()) { last_.store(now.time_since_epoch().count()); }
    // Time since the last beat.
    [[nodiscard]] Clock::duration silence(Clock::time_point now = Clock::now()) const {
        return now.time_since_epoch() - Clock::duration(last_.load());
    }

  private:
    std::atomic<Clock::rep> last_{Clock::now().time_since_epoch().count()};
};

}  // namespace lagtrap::daemon
