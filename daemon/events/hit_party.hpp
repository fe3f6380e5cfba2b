// Who hits the markers of an event: one process, or all programs of a user.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace lagtrap::daemon {

struct HitParty {
    std::uint32_t uid = 0;
    std::uint32_t pid = 0;  // 0: all of the user's

    auto operator<=>(const HitParty&) const = default;
};

// Of those hits at which the cost was looked at.
struct PartyHits {
    HitParty who;
    std::uint64_t paired = 0;
    std::uint64_t passed = 0;  // out of scope or limited
};

struct HitParties {
    std::vector<PartyHits> users;
    std::vector<PartyHits> processes;
};

// Whether a set of users, as lagtrap_event_counters.users_seen, has another one than `uid`. Of 64 pairs of users it takes
// one for the same.
[[nodiscard]] constexpr bool has_other_user(std::uint64_t users_seen, std::uint32_t uid) {
    return (users_seen & ~(std::uint64_t{1} << (uid % 64))) != 0;
}

}  // namespace lagtrap::daemon
