// The maps in which the event monitor's programs count hits by party, and find the parties to
// ignore.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/result.hpp"
#include "daemon/events/hit_party.hpp"

namespace lagtrap::daemon {

// The descriptors belong to the programs. Thread-safe.
class PartyMaps {
  public:
    struct Descriptors {
        int parties = -1, processes = -1, limited = -1, without_recordings = -1;
    };
    explicit PartyMaps(const Descriptors& maps) : maps_(maps) {}

    // Returns the hits since the last call, by event. Hits during the call may be lost.
    [[nodiscard]] std::map<std::uint32_t, HitParties> take() const;
    // Error: LAGTRAP_LIMITED_PARTIES are limited already.
    [[nodiscard]] Status limit(std::uint32_t event, const HitParty& who, bool wanted) const;
    // True if any party is limited.
    [[nodiscard]] bool limits(std::uint32_t event) const;
    void release_all(std::uint32_t event) const;
    // Uses at most LAGTRAP_LIMITED_PARTIES of them.
    void set_without_recordings(const std::set<Party>& parties) const;

  private:
    Descriptors maps_;
};

}  // namespace lagtrap::daemon
