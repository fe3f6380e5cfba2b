// Decides when each event has markers, and what happens to them when it is disabled, when its files
// change, and when attaching fails. Facts in, actions out: it uses no kernel, clock, file or
// thread. EventArming reports the facts and carries the actions out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::daemon {

// Not thread-safe. An event is a number below that of the constructor.
class ArmingPolicy {
  public:
    struct State {
        bool arming = true;     // not attempted yet, or the first attempt is being repeated
        bool disabled = false;  // `problem` has the reason
        bool counted = false;   // disabled, but its begins are counted
        std::string problem;    // why it is not armed
        [[nodiscard]] bool armed() const { return problem.empty() && !arming; }
        // Its markers may be attached to copies of its files.
        [[nodiscard]] bool attachable() const { return armed() || counted; }
    };
    // What to do at once, before anybody else attaches or detaches markers.
    struct Step {
        enum class Kind {
            IgnoreHits,  // they are only counted
            HandleHits,
            EndLimits,   // of parties
            KeepBegins,  // detach all markers but begins, in the background; drop open runs
            Detach,      // all markers, and wait until they are detached; drop open runs
            DetachSoon,  // the same in the background: the caller does not wait
        };
        Kind kind = Kind::IgnoreHits;
        std::uint32_t event = 0;
        bool operator==(const Step&) const = default;
    };
    // What follows afterwards, on the arming thread.
    struct Next {
        enum class Kind {
            Arm,      // read the event's files; attach if may_arm(); tell how that went
            PutBack,  // if may_put_back(), attach what was detached in part, else arm; tell how
                      // that went
            LookAtCopies,
            Report,
        };
        Kind kind = Kind::Arm;
        std::uint32_t event = 0;
        std::string problem{};  // to report; empty: it is armed
        bool operator==(const Next&) const = default;
    };
    struct Decision {
        std::vector<Step> steps;
        std::vector<Next> next;
    };

    // `holds_hits`: until handle_hits().
    ArmingPolicy(std::size_t events, bool holds_hits) : holds_hits_(holds_hits), events_(events) {}

    // All events are armed once without reports, each within budget(). Then events that need more
    // time are armed with a larger budget.
    [[nodiscard]] std::chrono::seconds budget() const;
    Decision end_first_round();

    // False if the event was disabled or armed meanwhile.
    [[nodiscard]] bool may_arm(std::uint32_t event) const;
    // How arming went: all its markers are attached, or none, or all, but its files changed
    // meanwhile.
    Decision note_armed(std::uint32_t event);
    Decision note_not_armed(std::uint32_t event, const Error& error);
    Decision note_changed(std::uint32_t event, const Error& error);
    [[nodiscard]] bool may_put_back(std::uint32_t event) const;
    Decision note_put_back(std::uint32_t event, const Status& attached);

    // Somebody writes to a file of these events.
    Decision leave(const std::vector<std::uint32_t>& events, const std::string& problem);
    // A file of these events was replaced.
    Decision replace(const std::vector<std::uint32_t>& events, const std::string& problem);
    // With `count`, its begins are still counted.
    Decision disable(std::uint32_t event, const std::string& reason, bool count);
    // Ends disable(): call resume() when its markers are detached, unless false. Success is
    // reported only with `report_success`.
    [[nodiscard]] bool enable(std::uint32_t event, bool report_success);
    Decision resume(std::uint32_t event);
    // The markers of its stages may return.
    Decision resume_stages(std::uint32_t event);

    // Hits of all events are only counted from now on, or handled.
    Decision hold_hits();
    Decision handle_hits();
    [[nodiscard]] bool holds_hits() const { return holds_hits_; }

    [[nodiscard]] const State& state(std::uint32_t event) const { return events_[event].state; }
    [[nodiscard]] std::size_t count_arming() const;
    // Events with markers, which copies of their files may have, too.
    [[nodiscard]] std::set<std::uint32_t> attachable() const;

  private:
    struct Event {
        State state;
        bool wanted = true;     // false from disable() to resume(), while `state` tells the reason
        bool resuming = false;  // resume() will follow
        bool report_success = true;
    };

    bool holds_hits_;
    bool first_round_ = true;
    std::vector<std::uint32_t> late_;  // timed out in the first round
    std::vector<Event> events_;
};

}  // namespace lagtrap::daemon
