// The maps by which the listener's programs tell whose hits there are and are told whose shall do nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "core/result.hpp"
#include "daemon/events/hit_party.hpp"

namespace lagtrap::daemon {

// The descriptors are the programs'. May be used from any thread.
class PartyMaps {
  public:
    struct Descriptors {
        int parties = -1, processes = -1, limited = -1, without_recordings = -1;
    };
    explicit PartyMaps(const Descriptors& maps) : maps_(maps) {}

    // The hits since the last call, by event. Hits that come meanwhile may be lost.
    [[nodiscard]] std::map<std::uint32_t, HitParties> take() const;
    // Error: LAGTRAP_LIMITED_PARTIES are limited.
    [[nodiscard]] Status limit(std::uint32_t event, const HitParty& who, bool wanted) const;
    // Whether anybody is limited.
    [[nodiscard]] bool limits(std::uint32_t event) const;
    void release_all(std::uint32_t event) const;
    // At most LAGTRAP_LIMITED_PARTIES of them.
    void set_without_recordings(const std::set<Party>& parties) const;

  private:
    Descriptors maps_;
};

}  // namespace lagtrap::daemon
