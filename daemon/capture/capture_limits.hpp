// Decides whose delays may begin a recording: how many begin per hour, how many of those are for
// one event or one party (core/party.hpp), and how long an event rests after one. So neither a
// noisy event nor a user who is slow on purpose takes the recordings of others. A recording that a
// person asked for takes nothing from any event. Uses neither the kernel nor a clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "daemon/events/hit_party.hpp"

namespace lagtrap::daemon {

// Not thread-safe.
class CaptureLimits {
  public:
    using Clock = std::chrono::steady_clock;
    using Delays = std::map<std::string, std::uint64_t>;  // that ended since the start, by event

    enum class Reason {
        CoolDown,     // a recording had a delay of the event
        HourlyLimit,  // all recordings of the hour are used up
        EventShare,   // those left are for other events
        DailyLimit,   // see hold()
        Questions,    // see hold_all()
    };
    struct Closed {
        Clock::time_point until;  // when to decide again
        Reason reason;
    };
    // Delays that ended while their event was closed and nothing was recorded.
    struct Skipped {
        std::uint64_t cool_down = 0, hourly_limit = 0, event_share = 0, daily_limit = 0,
                      questions = 0;
    };

    // May change at any time; what was begun before counts.
    void allow(std::uint32_t captures_per_hour, std::chrono::nanoseconds cool_down,
               std::set<std::string> events);

    // Events whose delays begin no recording before these times, because they used their recordings
    // of the day. Replaces the previous ones.
    void hold(std::map<std::string, Clock::time_point> until) { held_until_ = std::move(until); }

    // No delay begins a recording before this time, because too many recordings wait for an answer.
    // nullopt: there is room.
    void hold_all(std::optional<Clock::time_point> until) { all_held_until_ = until; }

    // A recording begins. `event` is nullopt if no delay caused it: then it does not count. `party`
    // is nullopt if it is in no party's share.
    void begin(const std::optional<std::string>& event, std::optional<Party> party,
               const Delays& delays, Clock::time_point now);
    // The recording, which a person asked for, is kept for the delays of `event` in it: it counts.
    void adopt(const std::string& event, Clock::time_point now) {
        begun_.push_back({event, std::nullopt, now});
    }
    // Events with a delay since begin().
    [[nodiscard]] std::set<std::string> delayed(const Delays& delays) const;
    // It ended, or was declined. Every event with a delay since begin() cools down, and `event`
    // too; none if no delay caused the recording.
    void end(const std::optional<std::string>& event, const Delays& delays, Clock::time_point now);

    // Events whose delays begin no recording now. If there are several events, one may have half of
    // all recordings, rounded up; and a part of the others is kept for events that had none, as
    // long as there is one for each event.
    [[nodiscard]] std::map<std::string, Closed> closed(const Delays& delays, Clock::time_point now);
    // Parties that reached their limit, half of all recordings rounded up, and until when. A party
    // is not limited while it is the only one in `seen`, the parties with watched programs.
    [[nodiscard]] std::map<Party, Clock::time_point> used_up(const SeenParties& seen,
                                                             Clock::time_point now);

    [[nodiscard]] Skipped skipped(const Delays& delays) const;

  private:
    struct Begun {
        std::string event;
        std::optional<Party> party;
        Clock::time_point at;
    };
    struct Rest {
        Reason reason;
        std::uint64_t delays_before;
    };

    void forget_old(Clock::time_point now);
    [[nodiscard]] std::optional<Closed> closed_event(
        const std::string& event, const std::map<std::string, std::uint32_t>& used,
        Clock::time_point now) const;
    [[nodiscard]] std::uint32_t kept_for_each() const;
    [[nodiscard]] std::uint32_t share_of_one() const;
    static std::uint64_t delays_of(const Delays& delays, const std::string& event);
    void count_skipped(const std::string& event, const Delays& delays);

    std::uint32_t limit_ = 0;
    std::chrono::nanoseconds cool_down_{};
    std::set<std::string> events_;
    std::deque<Begun> begun_;  // in the last hour
    std::map<std::string, Clock::time_point> cool_until_, held_until_;
    std::optional<Clock::time_point> all_held_until_;
    std::optional<Delays> recording_since_;  // the delays when the current recording began
    std::map<std::string, Rest> resting_;    // closed events
    Skipped skipped_;
};

}  // namespace lagtrap::daemon
