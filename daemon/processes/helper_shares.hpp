// Limits the helpers of the inspector pool (inspector_pool.hpp) per party (core/party.hpp): if a
// file system never answers, only its owner's processes cannot be inspected any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/party.hpp"

namespace lagtrap::daemon {

struct HelperLimits {
    std::size_t helpers = 4;    // working at the same time
    std::size_t stuck = 8;      // not released by the kernel
    std::size_t per_party = 2;  // working or stuck; root's are the machine's and not counted
    // Of `helpers`, and in addition to `stuck`: only for root and watched programs.
    std::size_t reserved_helpers = 1;
    std::size_t reserved_stuck = 4;
};

// Whose process is to be inspected.
struct Looker {
    Party party = root_party;
    bool is_watched = false;  // an event watches its program
};

// Does the counting only. Not thread-safe.
class HelperShares {
  public:
    explicit HelperShares(const HelperLimits& limits) : limits_(limits) {}

    // Later: when another inspection has ended. Refused: while too many helpers are stuck, or one
    // of the party's own. A stuck helper of the party does not matter for watched programs below
    // per_party.
    enum class Turn { Now, Later, Refused };
    [[nodiscard]] Turn turn_of(const Looker& looker) const;

    void begin(Party party) { ++of_party_[party].busy, ++busy_; }
    // The helper is free again, or stuck from now on.
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
    std::map<Party, Helpers> of_party_;  // parties with any helper
};

}  // namespace lagtrap::daemon
