// How many recordings may begin within an hour, and how many of them for the delays of one party (core/party.hpp): who is slow on
// purpose shall not take those of others.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "daemon/events/hit_party.hpp"

namespace lagtrap::daemon {

// Not for several threads at once.
class CaptureShares {
  public:
    using Clock = std::chrono::steady_clock;

    void allow(std::uint32_t captures_per_hour) { limit_ = captures_per_hour; }
    // A recording begins; without a party where none asked for it by being slow.
    void begin(std::optional<Party> party, Clock::time_point now) { begun_.push_back({party, now}); }

    // When the next may begin; nothing: now.
    [[nodiscard]] std::optional<Clock::time_point> full_until(Clock::time_point now);

    // Who has had theirs, and until when: half of all, rounded up. Nobody has who is the only one whose programs are watched; `seen`: whose programs are.
    [[nodiscard]] std::map<Party, Clock::time_point> used_up(const SeenParties& seen, Clock::time_point now);

  private:
    void forget_old(Clock::time_point now);

    struct Begun {
        std::optional<Party> party;
        Clock::time_point at;
    };
    std::uint32_t limit_ = 0;
    std::deque<Begun> begun_;  // within the last hour
};

}  // namespace lagtrap::daemon
