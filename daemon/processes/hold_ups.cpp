#include "daemon/processes/hold_ups.hpp"

#include <algorithm>

namespace lagtrap::daemon {

// Starts again with the shortest pause if nothing happened for max_pause after the last one.
template <typename Key>
void HoldUps::prolong(Pauses<Key>& pauses, Key key, std::uint32_t timeout, Clock::time_point now) {
    if (!pauses.contains(key) && pauses.size() >= limit)
        pauses.erase(std::min_element(
            pauses.begin(), pauses.end(),
            [](const auto& a, const auto& b) { return a.second.until < b.second.until; }));
    Pause& pause = pauses[key];
    if (now - pause.until > max_pause) pause = Pause{now, {}, 0};
    if (++pause.times < timeout) return;
    pause.length = pause.length == Clock::duration{}
                       ? first_pause
                       : std::min<Clock::duration>(pause.length * 2, max_pause);
    pause.until = now + pause.length;
}

template <typename Key>
std::vector<Key> HoldUps::avoided(const Pauses<Key>& pauses, Clock::time_point now) {
    std::vector<Key> keys;
    for (const auto& [key, pause] : pauses)
        if (now < pause.until) keys.push_back(key);
    return keys;
}

void HoldUps::note(const HoldUp& hold_up, Clock::time_point now) {
    prolong(processes_, hold_up.pid, 1, now);
    if (hold_up.device) prolong(devices_, *hold_up.device, 1, now);
    if (!hold_up.party) return;
    if (by_party_.contains(*hold_up.party) || by_party_.size() < limit) ++by_party_[*hold_up.party];
    if (*hold_up.party != root_party) prolong(parties_, *hold_up.party, party_timeout, now);
}

bool HoldUps::avoids_process(std::uint32_t pid, Clock::time_point now) const {
    const auto found = processes_.find(pid);
    return found != processes_.end() && now < found->second.until;
}

std::vector<Party> HoldUps::avoided_parties(Clock::time_point now) const {
    return avoided(parties_, now);
}

std::vector<std::uint64_t> HoldUps::avoided_devices(Clock::time_point now) const {
    return avoided(devices_, now);
}

}  // namespace lagtrap::daemon
