// Decides about recordings: which delay begins one, how long it lasts, and what its end means for
// the next delays. Facts and the time in, actions out: it uses no kernel, clock, file, thread or
// callback. CaptureController reports the facts and carries the actions out.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/party.hpp"
#include "daemon/capture/capture_limits.hpp"
#include "daemon/capture/recording_length.hpp"
#include "daemon/events/hit_party.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

// Not thread-safe. An event is a number in CaptureRules::events.
struct CaptureRules {
    struct Event {
        std::string name;
        CaptureLengths lengths;
    };
    std::vector<Event> events;
    std::uint32_t captures_per_hour = 0;
    std::chrono::nanoseconds cool_down{};
    bool asks = false;  // somebody must agree to each recording of a delay
};

// What is known when something happens.
struct CaptureContext {
    CaptureLimits::Delays delays;  // that ended so far, by event
    SeenParties parties;           // with watched programs
    // Set if so many questions are open that no other fits, at most until then.
    std::optional<CaptureLimits::Clock::time_point> questions_full_until;
};

namespace capture_fact {
struct Breached {
    std::string session;  // the id of its recording, if there will be one; unique
    std::uint32_t event = 0;
    bool at_deadline = false;  // the run is still open
    std::optional<Party> party;
};
struct Asked {  // the question about a breach is open, so it may be recorded
    Breached breach;
};
struct NotAsked {};  // an error
struct Answered {};  // there may be room for another question
// A person or client wants a recording now.
struct Requested {
    std::string session;
    std::uint32_t event = 0;
    CaptureLengths lengths;
    bool for_client = false;
};
struct Began {  // the recorder runs
    std::uint64_t size_limit_bytes = 0;
};
struct Written {
    std::uint64_t bytes = 0;
    AwaitedRun::State run = AwaitedRun::State::GoesOn;
};
struct Unwanted {};  // whoever wanted the recording wants it to end
struct Ended {       // the recorder has stopped, or did not begin
    bool failed = false;
};
struct Held {  // delays of these events begin no recording before these times
    std::map<std::string, CaptureLimits::Clock::time_point> until;
};
struct LimitsDue {};  // next_change() is over
struct HistoryWanted {
    bool wanted = true;
};
struct EarlyPoint {  // a run of this process is unusually slow
    std::uint32_t pid = 0;
};
struct EarlyBegan {};
struct EarlyFull {};
struct EarlyOver {};  // the run ended in time
}  // namespace capture_fact

namespace capture_action {
struct Ask {  // then report Asked or NotAsked
    capture_fact::Breached breach;
};
struct Record {  // then report Began or Ended
    std::string session;
    std::uint32_t event = 0;
    trace::TriggerReason reason = trace::TriggerReason::Manual;
    CaptureLengths lengths{};
    bool for_client = false;
};
struct Stop {  // then report Ended
    trace::RecordingEnd why = trace::RecordingEnd::Length;
};
struct Extended {};  // ends() has changed: the recording goes on for its run
struct WantBreaches {
    bool wanted = true;
};
// Delays of these begin no recording; replaces the previous ones.
struct CloseEvents {
    std::set<std::uint32_t> events;
};
struct CloseParties {
    std::set<Party> parties;
};
struct BeginEarly {  // then report EarlyBegan, unless it fails
    std::uint32_t pid = 0;
};
struct DropEarly {
    bool outgrown = false;  // the run goes on, but there is no room
};
// News for the log.
struct PartyUsedShare {
    Party party;
    std::chrono::nanoseconds duration;
};
struct EventUsedShare {
    std::uint32_t event = 0;
};
struct TooManyQuestions {};
}  // namespace capture_action

using CaptureAction = std::variant<
    capture_action::Ask, capture_action::Record, capture_action::Stop, capture_action::Extended,
    capture_action::WantBreaches, capture_action::CloseEvents, capture_action::CloseParties,
    capture_action::BeginEarly, capture_action::DropEarly, capture_action::PartyUsedShare,
    capture_action::EventUsedShare, capture_action::TooManyQuestions>;

class CapturePolicy {
  public:
    using Clock = CaptureLimits::Clock;
    using Actions = std::vector<CaptureAction>;  // to be carried out in this order
    enum class State { Waiting, Recording, CoolingDown };

    // While nothing is recorded, not even early.
    Actions use(CaptureRules rules, const CaptureContext& context, Clock::time_point now);

    Actions on(const capture_fact::Breached& breach, const CaptureContext& context,
               Clock::time_point now);
    Actions on(const capture_fact::Asked& asked, const CaptureContext& context,
               Clock::time_point now);
    Actions on(const capture_fact::NotAsked& fact);
    Actions on(const capture_fact::Answered& fact, const CaptureContext& context,
               Clock::time_point now);
    // Empty while something is recorded.
    Actions on(const capture_fact::Requested& request, const CaptureContext& context,
               Clock::time_point now);
    Actions on(const capture_fact::Began& began, Clock::time_point now);
    Actions on(const capture_fact::Written& written, Clock::time_point now);
    Actions on(const capture_fact::Unwanted& fact);
    Actions on(const capture_fact::Ended& ended, const CaptureContext& context,
               Clock::time_point now);
    Actions on(const capture_fact::Held& held, const CaptureContext& context,
               Clock::time_point now);
    Actions on(const capture_fact::LimitsDue& fact, const CaptureContext& context,
               Clock::time_point now);
    Actions on(const capture_fact::HistoryWanted& history);
    Actions on(const capture_fact::EarlyPoint& early);
    Actions on(const capture_fact::EarlyBegan& fact);
    Actions on(const capture_fact::EarlyFull& fact);
    Actions on(const capture_fact::EarlyOver& fact);

    // The event that a recording for a client is also kept for, because it has a delay of the event
    // that would have begun a recording; nullopt if there is none. Call it before Ended.
    [[nodiscard]] std::optional<std::string> event_to_share(const CaptureContext& context,
                                                            Clock::time_point now);

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] bool is_early() const { return early_; }
    // When the recording or the cool-down ends unless something happens before.
    [[nodiscard]] Clock::time_point ends() const { return ends_; }
    // True if Written needs the run's state from the table of open runs (RecordingLength).
    [[nodiscard]] bool is_look_due(Clock::time_point now) const { return length_.is_look_due(now); }
    // When to report LimitsDue; nullopt: never.
    [[nodiscard]] std::optional<Clock::time_point> next_change() const;
    // Events and parties whose delays begin no recording, and until when.
    [[nodiscard]] const std::map<std::string, CaptureLimits::Closed>& closed_events() const {
        return closed_events_;
    }
    [[nodiscard]] const std::map<Party, Clock::time_point>& closed_parties() const {
        return closed_parties_;
    }
    [[nodiscard]] CaptureLimits::Skipped skipped(const CaptureLimits::Delays& delays) const {
        return limits_.skipped(delays);
    }
    // Recordings begun, in total and for the delays of an event or by its name.
    [[nodiscard]] std::uint64_t begun() const { return totals_.begun; }
    [[nodiscard]] std::uint64_t begun_for(const std::string& event) const;
    [[nodiscard]] std::uint64_t failed() const { return totals_.failed; }

  private:
    struct Totals {
        std::uint64_t begun = 0, failed = 0;
        std::map<std::string, std::uint64_t> begun_for;  // by event
    };

    Actions record_breach(const capture_fact::Breached& breach, const CaptureContext& context,
                          Clock::time_point now);
    Actions record(const capture_action::Record& record, std::optional<Party> party,
                   const CaptureContext& context, Clock::time_point now);
    void follow_limits(Actions& actions, const CaptureContext& context, Clock::time_point now);
    void close_parties(Actions& actions, const SeenParties& seen, Clock::time_point now);
    void close_events(Actions& actions, const CaptureLimits::Delays& delays, Clock::time_point now);
    void become_ready(Actions& actions);
    void drop_early(Actions& actions, bool outgrown = false);
    Actions followed_limits(const CaptureContext& context, Clock::time_point now);

    CaptureRules rules_;
    CaptureLimits limits_;
    State state_ = State::Waiting;
    Clock::time_point ends_;
    RecordingLength length_;
    std::optional<capture_action::Record> recording_;
    std::optional<std::string> shared_event_;  // of the client's recording
    std::map<std::string, CaptureLimits::Closed> closed_events_;
    std::map<Party, Clock::time_point> closed_parties_;
    bool history_wanted_ = true;
    bool early_ = false;  // recording into memory
    Totals totals_;
};

}  // namespace lagtrap::daemon
