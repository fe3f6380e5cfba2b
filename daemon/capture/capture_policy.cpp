#include "daemon/capture/capture_policy.hpp"

#include <algorithm>
#include <utility>

namespace lagtrap::daemon {

using namespace capture_action;

CapturePolicy::Actions CapturePolicy::use(CaptureRules rules, const CaptureContext& context,
                                          Clock::time_point now) {
    rules_ = std::move(rules);
    std::set<std::string> names;
    for (const CaptureRules::Event& event : rules_.events) names.insert(event.name);
    limits_.allow(rules_.captures_per_hour, rules_.cool_down, std::move(names));
    closed_events_.clear();
    return followed_limits(context, now);
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::Breached& breach,
                                         const CaptureContext& context, Clock::time_point now) {
    if (state_ != State::Waiting || breach.event >= rules_.events.size()) return {};
    // The delay may have ended as its event was closed.
    if (closed_events_.contains(rules_.events[breach.event].name)) {
        Actions actions;
        become_ready(actions);
        return actions;
    }
    if (rules_.asks) return {Ask{breach}};
    return record_breach(breach, context, now);
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::Asked& asked,
                                         const CaptureContext& context, Clock::time_point now) {
    return record_breach(asked.breach, context, now);
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::NotAsked& /*fact*/) {
    Actions actions;
    become_ready(actions);
    return actions;
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::Answered& /*fact*/,
                                         const CaptureContext& context, Clock::time_point now) {
    return followed_limits(context, now);
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::Requested& request,
                                         const CaptureContext& context, Clock::time_point now) {
    if (state_ == State::Recording || request.event >= rules_.events.size()) return {};
    return record({request.session, request.event, trace::TriggerReason::Manual, request.lengths,
                   request.for_client},
                  std::nullopt, context, now);
}

CapturePolicy::Actions CapturePolicy::record_breach(const capture_fact::Breached& breach,
                                                    const CaptureContext& context,
                                                    Clock::time_point now) {
    const auto reason =
        breach.at_deadline ? trace::TriggerReason::Deadline : trace::TriggerReason::End;
    return record(
        {breach.session, breach.event, reason, rules_.events[breach.event].lengths, false},
        breach.party, context, now);
}

// What was recorded early becomes a part of the recording.
CapturePolicy::Actions CapturePolicy::record(const Record& record, std::optional<Party> party,
                                             const CaptureContext& context, Clock::time_point now) {
    const std::string& name = rules_.events[record.event].name;
    const bool by_delay = record.reason != trace::TriggerReason::Manual;
    state_ = State::Recording;
    recording_ = record;
    early_ = false;
    limits_.begin(by_delay ? std::optional(name) : std::nullopt, by_delay ? party : std::nullopt,
                  context.delays, now);
    ++totals_.begun;
    if (!record.for_client) ++totals_.begun_for[name];
    ends_ = now + std::chrono::duration_cast<Clock::duration>(record.lengths.planned);
    return {WantBreaches{false}, record};
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::Began& began, Clock::time_point now) {
    if (!recording_) return {};
    const CaptureLengths& lengths = recording_->lengths;
    length_ = RecordingLength({now + std::chrono::duration_cast<Clock::duration>(lengths.planned),
                               now + std::chrono::duration_cast<Clock::duration>(lengths.longest),
                               recording_->reason == trace::TriggerReason::Deadline,
                               began.size_limit_bytes});
    ends_ = length_.ends();
    return {};
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::Written& written,
                                         Clock::time_point now) {
    if (!recording_) return {};
    const bool was_extended = length_.extended();
    if (const auto end = length_.at(now, written.bytes, written.run)) return {Stop{*end}};
    ends_ = length_.ends();
    if (was_extended || !length_.extended()) return {};
    return {Extended{}};
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::Unwanted& /*fact*/) {
    if (!recording_) return {};
    return {Stop{trace::RecordingEnd::Length}};
}

std::optional<std::string> CapturePolicy::event_to_share(const CaptureContext& context,
                                                         Clock::time_point now) {
    if (rules_.asks || !recording_ || !recording_->for_client) return std::nullopt;
    for (const std::string& event : limits_.delayed(context.delays)) {
        if (closed_events_.contains(event)) continue;
        limits_.adopt(event, now);
        ++totals_.begun_for[event];
        shared_event_ = event;
        return event;
    }
    return std::nullopt;
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::Ended& ended,
                                         const CaptureContext& context, Clock::time_point now) {
    if (!recording_) return {};
    if (ended.failed) ++totals_.failed;
    const bool by_delay = recording_->reason != trace::TriggerReason::Manual;
    limits_.end(by_delay ? std::optional(rules_.events[recording_->event].name)
                         : std::exchange(shared_event_, std::nullopt),
                context.delays, now);
    recording_.reset();
    state_ = State::Waiting;
    return followed_limits(context, now);
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::Held& held,
                                         const CaptureContext& context, Clock::time_point now) {
    limits_.hold(held.until);
    if (recording_) return {};  // its end follows the limits
    return followed_limits(context, now);
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::LimitsDue& /*fact*/,
                                         const CaptureContext& context, Clock::time_point now) {
    return followed_limits(context, now);
}

CapturePolicy::Actions CapturePolicy::followed_limits(const CaptureContext& context,
                                                      Clock::time_point now) {
    Actions actions;
    follow_limits(actions, context, now);
    if (!recording_) become_ready(actions);
    return actions;
}

void CapturePolicy::follow_limits(Actions& actions, const CaptureContext& context,
                                  Clock::time_point now) {
    limits_.hold_all(context.questions_full_until);
    close_parties(actions, context.parties, now);
    close_events(actions, context.delays, now);
}

void CapturePolicy::close_parties(Actions& actions, const SeenParties& seen,
                                  Clock::time_point now) {
    auto closed = limits_.used_up(seen, now);
    std::set<Party> parties;
    for (const auto& [party, until] : closed) {
        parties.insert(party);
        if (!closed_parties_.contains(party))
            actions.emplace_back(PartyUsedShare{party, until - now});
    }
    closed_parties_ = std::move(closed);
    actions.emplace_back(CloseParties{std::move(parties)});
}

void CapturePolicy::close_events(Actions& actions, const CaptureLimits::Delays& delays,
                                 Clock::time_point now) {
    auto closed = limits_.closed(delays, now);
    std::set<std::uint32_t> numbers;
    bool is_full = false;
    for (std::uint32_t number = 0; number < rules_.events.size(); ++number) {
        const auto found = closed.find(rules_.events[number].name);
        if (found == closed.end()) continue;
        numbers.insert(number);
        const CaptureLimits::Reason reason = found->second.reason;
        const auto before = closed_events_.find(found->first);
        if (before != closed_events_.end() && before->second.reason == reason) continue;
        if (reason == CaptureLimits::Reason::EventShare)
            actions.emplace_back(EventUsedShare{number});
        is_full = is_full || reason == CaptureLimits::Reason::Questions;
    }
    if (is_full) actions.emplace_back(TooManyQuestions{});
    closed_events_ = std::move(closed);
    actions.emplace_back(CloseEvents{std::move(numbers)});
}

// If no event may record, no breaches are reported. Runs that are still open afterwards are
// reported then.
void CapturePolicy::become_ready(Actions& actions) {
    if (!rules_.events.empty() && closed_events_.size() == rules_.events.size()) {
        state_ = State::CoolingDown;
        ends_ = Clock::time_point::max();
        for (const auto& [event, closed] : closed_events_) ends_ = std::min(ends_, closed.until);
        return;
    }
    state_ = State::Waiting;
    actions.emplace_back(WantBreaches{true});
}

std::optional<CapturePolicy::Clock::time_point> CapturePolicy::next_change() const {
    std::optional<Clock::time_point> next;
    const auto add = [&next](Clock::time_point until) {
        next = std::min(next.value_or(until), until);
    };
    for (const auto& [party, until] : closed_parties_) add(until);
    for (const auto& [event, closed] : closed_events_) add(closed.until);
    return next == Clock::time_point::max() ? std::nullopt : next;
}

std::uint64_t CapturePolicy::begun_for(const std::string& event) const {
    const auto found = totals_.begun_for.find(event);
    return found == totals_.begun_for.end() ? 0 : found->second;
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::HistoryWanted& history) {
    Actions actions;
    history_wanted_ = history.wanted;
    if (!history_wanted_) drop_early(actions);
    return actions;
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::EarlyPoint& early) {
    if (early_ || !history_wanted_ || state_ != State::Waiting) return {};
    return {BeginEarly{early.pid}};
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::EarlyBegan& /*fact*/) {
    early_ = true;
    return {};
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::EarlyFull& /*fact*/) {
    Actions actions;
    drop_early(actions, true);
    return actions;
}

CapturePolicy::Actions CapturePolicy::on(const capture_fact::EarlyOver& /*fact*/) {
    Actions actions;
    drop_early(actions);
    return actions;
}

void CapturePolicy::drop_early(Actions& actions, bool outgrown) {
    if (std::exchange(early_, false)) actions.emplace_back(DropEarly{outgrown});
}

}  // namespace lagtrap::daemon
