#include "daemon/capture/capture_shares.hpp"

#include <algorithm>
#include <vector>

#include "daemon/events/hit_party.hpp"

namespace lagtrap::daemon {
namespace {

constexpr auto period = std::chrono::hours(1);

}  // namespace

void CaptureShares::forget_old(Clock::time_point now) {
    while (!begun_.empty() && now - begun_.front().at >= period) begun_.pop_front();
}

std::optional<CaptureShares::Clock::time_point> CaptureShares::full_until(Clock::time_point now) {
    forget_old(now);
    if (begun_.size() < limit_) return std::nullopt;
    return begun_[begun_.size() - limit_].at + period;
}

std::map<Party, CaptureShares::Clock::time_point> CaptureShares::used_up(const SeenParties& seen,
                                                                         Clock::time_point now) {
    forget_old(now);
    const std::size_t share = std::max<std::size_t>((limit_ + 1) / 2, 1);
    std::map<Party, std::vector<Clock::time_point>> by_party;
    for (const Begun& begun : begun_)
        if (begun.party) by_party[*begun.party].push_back(begun.at);
    std::map<Party, Clock::time_point> result;
    for (const auto& [party, times] : by_party)
        if (times.size() >= share && seen.has_other_than(party)) result[party] = times[times.size() - share] + period;
    return result;
}

}  // namespace lagtrap::daemon
