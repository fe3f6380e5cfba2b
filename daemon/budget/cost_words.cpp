#include "daemon/budget/cost_words.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "daemon/budget/millionths.hpp"

namespace lagtrap::daemon {

std::string CostWords::percent(std::uint64_t part_ns) const {
    return percent_of_ppm(ppm_of(part_ns, use_.elapsed_ns));
}

std::string CostWords::limit() const { return "; the limit is " + percent_of_ppm(share_ppm_); }

std::string CostWords::of_event(std::uint32_t event, settings::BudgetPart kind,
                                std::uint64_t cost_ns, std::uint64_t all_ns) const {
    const bool stacks = kind == settings::BudgetPart::Stacks,
               stages = kind == settings::BudgetPart::Stages;
    const double hits_per_second =
        static_cast<double>(use_.events[event].hits) * 1e9 / static_cast<double>(use_.elapsed_ns);
    std::string words = fmt::format("{} took {} of a CPU with {:.0f} hits per second",
                                    stacks   ? "stacks at its markers"
                                    : stages ? "the markers of its stages"
                                             : "its markers",
                                    percent(cost_ns), hits_per_second);
    const std::uint64_t others_ns = all_ns - std::min(all_ns, cost_ns);
    const std::uint64_t share_ns = part_of(use_.elapsed_ns, share_ppm_);
    if (others_ns > 0)
        words += fmt::format(", {} {}",
                             stacks   ? "other stacks and markers"
                             : stages ? "other markers"
                                      : "other events",
                             percent(others_ns));
    if (use_.own_cpu_ns > share_ns / 2)
        words += fmt::format(", lagtrapd itself {} (counted as {})", percent(use_.own_cpu_ns),
                             percent(share_ns / 2));
    else if (use_.own_cpu_ns > 0)
        words += fmt::format(", lagtrapd itself {}", percent(use_.own_cpu_ns));
    return words + limit();
}

std::string CostWords::of_party(const PartyUse& party) const {
    return fmt::format("{} took {} of a CPU at its markers", party.who.pid == 0 ? "it" : "it alone",
                       percent(party.paired_ns)) +
           limit();
}

std::string CostWords::of_whole(std::uint64_t cost_ns, std::uint64_t all_ns) const {
    return fmt::format("it took {} of a CPU, watching {} in total", percent(cost_ns),
                       percent(all_ns)) +
           limit();
}

std::string CostWords::of_counts(std::uint64_t cost_ns, std::uint64_t all_ns) const {
    return fmt::format("counting its begins took {} of a CPU, watching {} in total",
                       percent(cost_ns), percent(all_ns)) +
           limit();
}

std::string CostWords::of_counts_instead(std::uint64_t cost_ns) const {
    return "; counting its begins alone would take " + percent(cost_ns);
}

}  // namespace lagtrap::daemon
