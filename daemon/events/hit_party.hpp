// Who hits the markers of an event: one process, or all of a party's (core/party.hpp).
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <vector>

#include "bpf/listener.h"
#include "core/party.hpp"

namespace lagtrap::daemon {

struct HitParty {
    Party party = root_party;
    std::uint32_t pid = 0;  // 0: all of the party's

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

// Who has begun runs of one event, or of several.
class SeenParties {
  public:
    void add(Party party) { parties_.insert(party); }
    void add(const lagtrap_seen_parties& seen);
    void add(const SeenParties& others);
    void remove(Party party) { parties_.erase(party); }

    // Beyond the room that BPF programs have for them there are always others.
    [[nodiscard]] bool has_other_than(Party party) const;

  private:
    std::set<Party> parties_;
    bool more_ = false;
};

}  // namespace lagtrap::daemon
