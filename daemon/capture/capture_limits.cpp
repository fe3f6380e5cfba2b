#include "daemon/capture/capture_limits.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace lagtrap::daemon {
namespace {

constexpr auto period = std::chrono::hours(1);

}  // namespace

void CaptureLimits::allow(std::uint32_t captures_per_hour, std::chrono::nanoseconds cool_down,
                          std::set<std::string> events) {
    limit_ = captures_per_hour;
    cool_down_ = cool_down;
    events_ = std::move(events);
    std::erase_if(resting_, [&](const auto& resting) { return !events_.contains(resting.first); });
}

void CaptureLimits::forget_old(Clock::time_point now) {
    while (!begun_.empty() && now - begun_.front().at >= period) begun_.pop_front();
    std::erase_if(cool_until_, [now](const auto& cooling) { return cooling.second <= now; });
}

std::uint64_t CaptureLimits::delays_of(const Delays& delays, const std::string& event) {
    const auto found = delays.find(event);
    return found == delays.end() ? 0 : found->second;
}

void CaptureLimits::begin(const std::optional<std::string>& event, std::optional<Party> party,
                          const Delays& delays, Clock::time_point now) {
    for (const auto& [resting, rest] : resting_) count_skipped(resting, delays);
    resting_.clear();
    if (event) begun_.push_back({*event, party, now});
    recording_since_ = delays;
}

std::set<std::string> CaptureLimits::delayed(const Delays& delays) const {
    std::set<std::string> found;
    if (!recording_since_) return found;
    for (const std::string& event : events_)
        if (delays_of(delays, event) > delays_of(*recording_since_, event)) found.insert(event);
    return found;
}

void CaptureLimits::end(const std::optional<std::string>& event, const Delays& delays,
                        Clock::time_point now) {
    const std::set<std::string> others = delayed(delays);
    recording_since_.reset();
    if (!event) return;
    const auto until = now + std::chrono::duration_cast<Clock::duration>(cool_down_);
    cool_until_[*event] = until;
    for (const std::string& other : others) cool_until_[other] = until;
}

std::uint32_t CaptureLimits::share_of_one() const {
    return events_.size() < 2 ? limit_ : std::max<std::uint32_t>((limit_ + 1) / 2, 1);
}

std::uint32_t CaptureLimits::kept_for_each() const {
    const auto events = static_cast<std::uint32_t>(events_.size());
    return events < 2 || events > limit_ ? 0 : std::max<std::uint32_t>(limit_ / (2 * events), 1);
}

std::optional<CaptureLimits::Closed> CaptureLimits::closed_event(
    const std::string& event, const std::map<std::string, std::uint32_t>& used,
    Clock::time_point now) const {
    std::optional<Closed> closed;
    const auto close = [&](Clock::time_point until, Reason reason) {
        if (!closed || until > closed->until) closed = Closed{until, reason};
    };
    if (const auto cooling = cool_until_.find(event);
        cooling != cool_until_.end() && cooling->second > now)
        close(cooling->second, Reason::CoolDown);
    if (const auto held = held_until_.find(event); held != held_until_.end() && held->second > now)
        close(held->second, Reason::DailyLimit);
    if (all_held_until_ && *all_held_until_ > now) close(*all_held_until_, Reason::Questions);
    if (begun_.size() >= limit_) {
        close(begun_[begun_.size() - limit_].at + period, Reason::HourlyLimit);
        return closed;
    }
    const auto used_by = [&](const std::string& one) {
        const auto found = used.find(one);
        return found == used.end() ? 0U : found->second;
    };
    std::uint32_t kept = 0;
    for (const std::string& other : events_)
        if (other != event) kept += kept_for_each() - std::min(kept_for_each(), used_by(other));
    if (used_by(event) >= share_of_one() || begun_.size() + kept >= limit_)
        close(begun_.front().at + period, Reason::EventShare);
    return closed;
}

std::map<std::string, CaptureLimits::Closed> CaptureLimits::closed(const Delays& delays,
                                                                   Clock::time_point now) {
    forget_old(now);
    std::map<std::string, std::uint32_t> used;
    for (const Begun& begun : begun_) ++used[begun.event];
    std::map<std::string, Closed> result;
    for (const std::string& event : events_)
        if (const auto closed = closed_event(event, used, now)) result.emplace(event, *closed);
    for (const std::string& event : events_) {
        count_skipped(event, delays);
        resting_.erase(event);
        if (const auto closed = result.find(event); closed != result.end() && !recording_since_)
            resting_.emplace(event, Rest{closed->second.reason, delays_of(delays, event)});
    }
    return result;
}

void CaptureLimits::count_skipped(const std::string& event, const Delays& delays) {
    const auto resting = resting_.find(event);
    if (resting == resting_.end()) return;
    const std::uint64_t now = delays_of(delays, event), before = resting->second.delays_before;
    const std::uint64_t skipped = now - std::min(now, before);
    resting->second.delays_before = now;
    switch (resting->second.reason) {
        case Reason::CoolDown: skipped_.cool_down += skipped; break;
        case Reason::HourlyLimit: skipped_.hourly_limit += skipped; break;
        case Reason::EventShare: skipped_.event_share += skipped; break;
        case Reason::DailyLimit: skipped_.daily_limit += skipped; break;
        case Reason::Questions: skipped_.questions += skipped; break;
    }
}

CaptureLimits::Skipped CaptureLimits::skipped(const Delays& delays) const {
    CaptureLimits now = *this;
    for (const auto& [event, rest] : resting_) now.count_skipped(event, delays);
    return now.skipped_;
}

std::map<Party, CaptureLimits::Clock::time_point> CaptureLimits::used_up(const SeenParties& seen,
                                                                         Clock::time_point now) {
    forget_old(now);
    const std::size_t share = std::max<std::size_t>((limit_ + 1) / 2, 1);
    std::map<Party, std::vector<Clock::time_point>> by_party;
    for (const Begun& begun : begun_)
        if (begun.party) by_party[*begun.party].push_back(begun.at);
    std::map<Party, Clock::time_point> result;
    for (const auto& [party, times] : by_party)
        if (times.size() >= share && seen.has_other_than(party))
            result[party] = times[times.size() - share] + period;
    return result;
}

}  // namespace lagtrap::daemon
