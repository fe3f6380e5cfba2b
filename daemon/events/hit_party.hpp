// Whose hits: one process, or all processes of a party (core/party.hpp).
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <vector>

#include "bpf/event_monitor.h"
#include "core/party.hpp"

namespace lagtrap::daemon {

struct HitParty {
    Party party = root_party;
    std::uint32_t pid = 0;  // 0: all processes of the party

    auto operator<=>(const HitParty&) const = default;
};

// Hits of one party, among the sampled ones.
struct PartyHits {
    HitParty who;
    std::uint64_t paired = 0;
    std::uint64_t passed = 0;  // out of scope or limited
};

struct HitParties {
    std::vector<PartyHits> users;
    std::vector<PartyHits> processes;
};

// The parties that have begun runs of one or more events.
class SeenParties {
  public:
    void add(Party party) { parties_.insert(party); }
    void add(const lagtrap_seen_parties& seen);
    void add(const SeenParties& others);
    void remove(Party party) { parties_.erase(party); }

    // The BPF programs store a limited number of parties. If there are more, it is always true.
    [[nodiscard]] bool has_other_than(Party party) const;

  private:
    std::set<Party> parties_;
    bool more_ = false;
};

}  // namespace lagtrap::daemon
