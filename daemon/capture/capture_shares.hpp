// How many recordings may begin within an hour, and how many of them for the delays of one user: a user whose programs are
// slow on purpose shall not take those of others.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace lagtrap::daemon {

// Not for several threads at once.
class CaptureShares {
  public:
    using Clock = std::chrono::steady_clock;

    void allow(std::uint32_t captures_per_hour) { limit_ = captures_per_hour; }
    // A recording begins; without a user where none asked for it by being slow.
    void begin(std::optional<std::uint32_t> uid, Clock::time_point now) { begun_.push_back({uid, now}); }

    // When the next may begin; nothing: now.
    [[nodiscard]] std::optional<Clock::time_point> full_until(Clock::time_point now);

    // The users who have had theirs, and until when: half of all, rounded up. Nobody has where he is the only user whose
    // programs are watched; `users_seen` as lagtrap_event_counters has it.
    [[nodiscard]] std::map<std::uint32_t, Clock::time_point> used_up(std::uint64_t users_seen, Clock::time_point now);

  private:
    void forget_old(Clock::time_point now);

    struct Begun {
        std::optional<std::uint32_t> uid;
        Clock::time_point at;
    };
    std::uint32_t limit_ = 0;
    std::deque<Begun> begun_;  // within the last hour
};

}  // namespace lagtrap::daemon
