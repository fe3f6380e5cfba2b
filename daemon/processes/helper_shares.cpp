#include "daemon/processes/helper_shares.hpp"

#include <algorithm>

namespace lagtrap::daemon {

HelperShares::Turn HelperShares::turn_of(const Looker& looker) const {
    const bool is_root = looker.party == root_party;
    const bool has_reserve = is_root || looker.is_watched;
    if (stuck_ >= limits_.stuck + (has_reserve ? limits_.reserved_stuck : 0)) return Turn::Refused;
    const auto found = of_party_.find(looker.party);
    const Helpers its = found == of_party_.end() ? Helpers{} : found->second;
    if (!is_root && its.stuck > 0 && (!looker.is_watched || its.stuck >= limits_.per_party))
        return Turn::Refused;
    if (!is_root && its.busy + its.stuck >= limits_.per_party) return Turn::Later;
    const std::size_t reserved =
        has_reserve ? 0 : std::min(limits_.reserved_helpers, limits_.helpers - 1);
    return busy_ >= limits_.helpers - reserved ? Turn::Later : Turn::Now;
}

void HelperShares::end(Party party) {
    --of_party_[party].busy;
    --busy_;
    forget_idle(party);
}

void HelperShares::end_stuck(Party party) {
    ++of_party_[party].stuck;
    ++stuck_;
    end(party);
}

void HelperShares::release_stuck(Party party) {
    --of_party_[party].stuck;
    --stuck_;
    forget_idle(party);
}

void HelperShares::forget_idle(Party party) {
    const auto found = of_party_.find(party);
    if (found->second.busy == 0 && found->second.stuck == 0) of_party_.erase(found);
}

}  // namespace lagtrap::daemon
