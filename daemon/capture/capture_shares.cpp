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

std::map<std::uint32_t, CaptureShares::Clock::time_point> CaptureShares::used_up(std::uint64_t users_seen,
                                                                                 Clock::time_point now) {
    forget_old(now);
    const std::size_t share = std::max<std::size_t>((limit_ + 1) / 2, 1);
    std::map<std::uint32_t, std::vector<Clock::time_point>> by_user;
    for (const Begun& begun : begun_)
        if (begun.uid) by_user[*begun.uid].push_back(begun.at);
    std::map<std::uint32_t, Clock::time_point> result;
    for (const auto& [uid, times] : by_user)
        if (times.size() >= share && has_other_user(users_seen, uid))
            result[uid] = times[times.size() - share] + period;
    return result;
}

}  // namespace lagtrap::daemon
