#include "daemon/events/hit_party.hpp"

namespace lagtrap::daemon {

void SeenParties::add(const lagtrap_seen_parties& seen) {
    for (const std::uint32_t mark : seen.parties)
        if (mark != 0) add(mark - 1);
    more_ = more_ || seen.more != 0;
}

void SeenParties::add(const SeenParties& others) {
    parties_.insert(others.parties_.begin(), others.parties_.end());
    more_ = more_ || others.more_;
}

bool SeenParties::has_other_than(Party party) const {
    return more_ || parties_.size() > (parties_.contains(party) ? 1U : 0U);
}

}  // namespace lagtrap::daemon
