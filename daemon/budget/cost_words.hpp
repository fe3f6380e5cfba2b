// Why the budget disables something, in words for people: what it took, what else took time, and
// the limit.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/budget/overhead_budget.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// The costs of one check. Each text is a clause without a full stop.
class CostWords {
  public:
    // `use` must outlive this object. `share_ppm` is the limit, in millionths of a CPU.
    CostWords(const WatchUse& use, std::uint64_t share_ppm) : use_(use), share_ppm_(share_ppm) {}

    // Stages, stacks or all markers of an event. `all_ns` is the cost of everything, likewise
    // below.
    [[nodiscard]] std::string of_event(std::uint32_t event, settings::BudgetPart kind,
                                       std::uint64_t cost_ns, std::uint64_t all_ns) const;
    // A party's hits of an event.
    [[nodiscard]] std::string of_party(const PartyUse& party) const;
    // Something that serves all events.
    [[nodiscard]] std::string of_whole(std::uint64_t cost_ns, std::uint64_t all_ns) const;
    // Counting the begins of an event that is not timed.
    [[nodiscard]] std::string of_counts(std::uint64_t cost_ns, std::uint64_t all_ns) const;
    // To add to of_event(): what counting its begins instead would take.
    [[nodiscard]] std::string of_counts_instead(std::uint64_t cost_ns) const;

  private:
    [[nodiscard]] std::string percent(std::uint64_t part_ns) const;
    [[nodiscard]] std::string limit() const;

    const WatchUse& use_;
    const std::uint64_t share_ppm_;
};

}  // namespace lagtrap::daemon
