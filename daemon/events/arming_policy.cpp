#include "daemon/events/arming_policy.hpp"

#include <algorithm>
#include <utility>

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// Time to read all files of an event. Large programs take some seconds on a busy machine.
constexpr std::chrono::seconds first_budget = 5s, full_budget = 20s;

using Step = ArmingPolicy::Step;
using Next = ArmingPolicy::Next;

}  // namespace

std::chrono::seconds ArmingPolicy::budget() const {
    return first_round_ ? first_budget : full_budget;
}

ArmingPolicy::Decision ArmingPolicy::end_first_round() {
    first_round_ = false;
    Decision decision;
    for (const std::uint32_t event : late_) decision.next.push_back({Next::Kind::Arm, event});
    late_.clear();
    return decision;
}

bool ArmingPolicy::may_arm(std::uint32_t event) const {
    return events_[event].wanted && !events_[event].state.armed();
}

ArmingPolicy::Decision ArmingPolicy::note_armed(std::uint32_t event) {
    events_[event].state = {false, false, false, {}};
    const bool report = std::exchange(events_[event].report_success, true);
    if (first_round_) return {};
    Decision decision;
    decision.next.push_back({Next::Kind::LookAtCopies, event});
    if (report) decision.next.push_back({Next::Kind::Report, event});
    return decision;
}

ArmingPolicy::Decision ArmingPolicy::note_not_armed(std::uint32_t event, const Error& error) {
    if (!may_arm(event)) return {};
    if (first_round_ && error.kind == ErrorKind::Timeout) {
        late_.push_back(event);
        return {};
    }
    events_[event].state = {false, false, false, error.message};
    events_[event].report_success = true;
    if (first_round_) return {};
    return {{}, {{Next::Kind::Report, event, error.message}}};
}

ArmingPolicy::Decision ArmingPolicy::note_changed(std::uint32_t event, const Error& error) {
    Decision decision = note_not_armed(event, error);
    decision.steps = {{Step::Kind::IgnoreHits, event}, {Step::Kind::Detach, event}};
    return decision;
}

bool ArmingPolicy::may_put_back(std::uint32_t event) const {
    return events_[event].wanted && events_[event].state.attachable();
}

ArmingPolicy::Decision ArmingPolicy::note_put_back(std::uint32_t event, const Status& attached) {
    if (!may_put_back(event)) return {};
    if (!attached) return replace({event}, "its markers are being reattached");
    Decision decision;
    if (!events_[event].state.armed()) decision = note_armed(event);
    if (!holds_hits_) decision.steps.push_back({Step::Kind::HandleHits, event});
    return decision;
}

// Hits of all events lose their effect before the first one is detached, which takes time.
ArmingPolicy::Decision ArmingPolicy::leave(const std::vector<std::uint32_t>& events,
                                           const std::string& problem) {
    Decision decision;
    for (const std::uint32_t event : events)
        decision.steps.push_back({Step::Kind::IgnoreHits, event});
    for (const std::uint32_t event : events) {
        decision.steps.push_back({Step::Kind::Detach, event});
        State& state = events_[event].state;
        if (!state.disabled) state.problem = problem;
        state.counted = false;
    }
    return decision;
}

ArmingPolicy::Decision ArmingPolicy::replace(const std::vector<std::uint32_t>& events,
                                             const std::string& problem) {
    Decision decision = leave(events, problem);
    for (const std::uint32_t event : events)
        if (events_[event].wanted) decision.next.push_back({Next::Kind::Arm, event});
    return decision;
}

ArmingPolicy::Decision ArmingPolicy::disable(std::uint32_t event, const std::string& reason,
                                             bool count) {
    Event& disabled = events_[event];
    const bool counted = count && disabled.state.attachable();
    disabled.state = {false, true, counted, reason};
    disabled.wanted = disabled.resuming = false;
    Decision decision;
    // counted events lose their markers one by one
    if (!counted) decision.steps.push_back({Step::Kind::IgnoreHits, event});
    decision.steps.push_back({counted ? Step::Kind::KeepBegins : Step::Kind::DetachSoon, event});
    decision.steps.push_back({Step::Kind::EndLimits, event});
    return decision;
}

bool ArmingPolicy::enable(std::uint32_t event, bool report_success) {
    Event& enabled = events_[event];
    if (enabled.wanted) return false;
    enabled.report_success = report_success;
    return !std::exchange(enabled.resuming, true);
}

ArmingPolicy::Decision ArmingPolicy::resume(std::uint32_t event) {
    Event& resumed = events_[event];
    if (!std::exchange(resumed.resuming, false)) return {};
    resumed.wanted = true;
    return {{}, {{resumed.state.counted ? Next::Kind::PutBack : Next::Kind::Arm, event}}};
}

ArmingPolicy::Decision ArmingPolicy::resume_stages(std::uint32_t event) {
    if (!events_[event].wanted || !events_[event].state.armed()) return {};
    return {{}, {{Next::Kind::PutBack, event}}};
}

ArmingPolicy::Decision ArmingPolicy::hold_hits() {
    holds_hits_ = true;
    Decision decision;
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        decision.steps.push_back({Step::Kind::IgnoreHits, event});
    return decision;
}

ArmingPolicy::Decision ArmingPolicy::handle_hits() {
    holds_hits_ = false;
    Decision decision;
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        if (state(event).armed()) decision.steps.push_back({Step::Kind::HandleHits, event});
    return decision;
}

std::size_t ArmingPolicy::count_arming() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(events_, [](const Event& event) { return event.state.arming; }));
}

std::set<std::uint32_t> ArmingPolicy::attachable() const {
    std::set<std::uint32_t> events;
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        if (state(event).attachable()) events.insert(event);
    return events;
}

}  // namespace lagtrap::daemon
