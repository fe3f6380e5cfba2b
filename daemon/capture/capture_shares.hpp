// Limits how many recordings begin per hour, and how many of those are for delays of one party
// (core/party.hpp), so that a user who is slow on purpose cannot use up the others' recordings.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "daemon/events/hit_party.hpp"

namespace lagtrap::daemon {

// Not thread-safe.
class CaptureShares {
  public:
    using Clock = std::chrono::steady_clock;

    void allow(std::uint32_t captures_per_hour) { limit_ = captures_per_hour; }
    // Counts a recording that begins. nullopt if no party's delay caused it.
    void begin(std::optional<Party> party, Clock::time_point now) { begun_.push_back({party, now}); }

    // When the next recording may begin; nullopt: now.
    [[nodiscard]] std::optional<Clock::time_point> full_until(Clock::time_point now);

    // Parties that reached their limit, half of all recordings rounded up, and until when. A party
    // is not limited while it is the only one in `seen`, the parties with watched programs.
    [[nodiscard]] std::map<Party, Clock::time_point> used_up(const SeenParties& seen, Clock::time_point now);

  private:
    void forget_old(Clock::time_point now);

    struct Begun {
        std::optional<Party> party;
        Clock::time_point at;
    };
    std::uint32_t limit_ = 0;
    std::deque<Begun> begun_;  // in the last hour
};

}  // namespace lagtrap::daemon
