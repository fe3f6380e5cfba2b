#include "daemon/processes/helper_shares.hpp"

#include <algorithm>

namespace lagtrap::daemon {

HelperShares::Turn HelperShares::turn_of(const Looker& looker) const {
    const bool is_root = looker.uid == 0;
    const bool has_reserve = is_root || looker.is_watched;
    if (stuck_ >= limits_.stuck + (has_reserve ? limits_.reserved_stuck : 0)) return Turn::Refused;
    const auto found = of_user_.find(looker.uid);
    const Helpers its = found == of_user_.end() ? Helpers{} : found->second;
    if (!is_root && its.stuck > 0 && (!looker.is_watched || its.stuck >= limits_.per_user)) return Turn::Refused;
    if (!is_root && its.busy + its.stuck >= limits_.per_user) return Turn::Later;
    const std::size_t reserved = has_reserve ? 0 : std::min(limits_.reserved_helpers, limits_.helpers - 1);
    return busy_ >= limits_.helpers - reserved ? Turn::Later : Turn::Now;
}

void HelperShares::end(std::uint32_t uid) {
    --of_user_[uid].busy;
    --busy_;
    forget_idle(uid);
}

void HelperShares::end_stuck(std::uint32_t uid) {
    ++of_user_[uid].stuck;
    ++stuck_;
    end(uid);
}

void HelperShares::release_stuck(std::uint32_t uid) {
    --of_user_[uid].stuck;
    --stuck_;
    forget_idle(uid);
}

void HelperShares::forget_idle(std::uint32_t uid) {
    const auto found = of_user_.find(uid);
    if (found->second.busy == 0 && found->second.stuck == 0) of_user_.erase(found);
}

}  // namespace lagtrap::daemon
