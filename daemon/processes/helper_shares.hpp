// Who may have a helper of the inspector pool (inspector_pool.hpp): a file system that never answers costs its user looks into
// that user's processes, and nobody else's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace lagtrap::daemon {

struct HelperLimits {
    std::size_t helpers = 4;   // at work at once
    std::size_t stuck = 8;     // that the kernel does not let go
    std::size_t per_user = 2;  // at work or stuck; root's are the machine's, and not counted
    // Of `helpers`, and beyond `stuck`: for root and for watched programs alone.
    std::size_t reserved_helpers = 1;
    std::size_t reserved_stuck = 4;
};

// Whose process is to be looked into.
struct Looker {
    std::uint32_t uid = 0;
    bool is_watched = false;  // an event watches its program
};

// Only counts. Not for several threads at once.
class HelperShares {
  public:
    explicit HelperShares(HelperLimits limits) : limits_(limits) {}

    // Later: when another look has ended. Refused: as long as helpers are stuck. A user with one that is stuck waits until
    // that has ended, but for watched programs.
    enum class Turn { Now, Later, Refused };
    [[nodiscard]] Turn turn_of(const Looker& looker) const;

    void begin(std::uint32_t uid) { ++of_user_[uid].busy, ++busy_; }
    // Its helper is free again, or is stuck from now on.
    void end(std::uint32_t uid);
    void end_stuck(std::uint32_t uid);
    void release_stuck(std::uint32_t uid);

  private:
    struct Helpers {
        std::size_t busy = 0, stuck = 0;
    };
    void forget_idle(std::uint32_t uid);

    HelperLimits limits_;
    std::size_t busy_ = 0, stuck_ = 0;
    std::map<std::uint32_t, Helpers> of_user_;  // who has any
};

}  // namespace lagtrap::daemon
