// Who may have a helper of the inspector pool (inspector_pool.hpp): a file system that never answers costs its owner (core/party.hpp) looks into
// their processes, and nobody else's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/party.hpp"

namespace lagtrap::daemon {

struct HelperLimits {
    std::size_t helpers = 4;    // at work at once
    std::size_t stuck = 8;      // that the kernel does not let go
    std::size_t per_party = 2;  // at work or stuck; root's are the machine's, and not counted
    // Of `helpers`, and beyond `stuck`: for root and for watched programs alone.
    std::size_t reserved_helpers = 1;
    std::size_t reserved_stuck = 4;
};

// Whose process is to be looked into.
struct Looker {
    Party party = root_party;
    bool is_watched = false;  // an event watches its program
};

// Only counts. Not for several threads at once.
class HelperShares {
  public:
    explicit HelperShares(HelperLimits limits) : limits_(limits) {}

    // Later: when another look has ended. Refused: as long as helpers are stuck. A party with one that is stuck waits until
    // that has ended, but for watched programs.
    enum class Turn { Now, Later, Refused };
    [[nodiscard]] Turn turn_of(const Looker& looker) const;

    void begin(Party party) { ++of_party_[party].busy, ++busy_; }
    // Its helper is free again, or is stuck from now on.
    void end(Party party);
    void end_stuck(Party party);
    void release_stuck(Party party);

  private:
    struct Helpers {
        std::size_t busy = 0, stuck = 0;
    };
    void forget_idle(Party party);

    HelperLimits limits_;
    std::size_t busy_ = 0, stuck_ = 0;
    std::map<Party, Helpers> of_party_;  // who has any
};

}  // namespace lagtrap::daemon
