#include "daemon/overhead_budget.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t million = 1'000'000;
constexpr std::uint64_t longest_pause_ns = 86'400ULL * 1'000'000'000;
// What costs less than this part of the share is not worth giving up.
constexpr std::uint64_t worthwhile_part = 20;

std::uint64_t part_of(std::uint64_t length_ns, std::uint64_t ppm) {
    return static_cast<std::uint64_t>(static_cast<double>(length_ns) * static_cast<double>(ppm) / 1e6);
}

std::uint64_t ppm_of(std::uint64_t part_ns, std::uint64_t whole_ns) {
    return whole_ns == 0
               ? 0
               : static_cast<std::uint64_t>(static_cast<double>(part_ns) * 1e6 / static_cast<double>(whole_ns));
}

}  // namespace

std::string percent_of_ppm(std::uint64_t ppm) {
    if (ppm >= 10 * (million / 100) || ppm % (million / 100) == 0) return fmt::format("{} %", (ppm + 5000) / 10'000);
    return fmt::format("{:.1f} %", static_cast<double>(ppm) / 10'000.0);
}

std::uint64_t OverheadBudget::again_ns(std::uint32_t event) const {
    if (event >= events_.size()) return 0;
    const EventState& state = events_[event];
    if (state.probes.up) return state.probes.again_ns;
    return state.stacks.up ? state.stacks.again_ns : 0;
}

OverheadBudget::ShedAt OverheadBudget::shed_at(std::uint32_t event) const {
    return event < events_.size() ? events_[event].probes.at : ShedAt{};
}

std::uint64_t OverheadBudget::pause_ns(const Given& given) const {
    std::uint64_t pause = static_cast<std::uint64_t>(budget_.pause.count());
    for (std::uint32_t time = 1; time < given.times && pause < longest_pause_ns; ++time) pause *= 2;
    return std::min(pause, longest_pause_ns);
}

void OverheadBudget::give_up(Given& given, std::uint64_t now_ns) {
    given.up = true;
    ++given.times;
    ++times_shed_;
    given.at = {looks_, over_since_};
    given.again_ns = now_ns + pause_ns(given);
}

// What has stayed for as long as it was away last time begins anew.
void OverheadBudget::forgive(Given& given, std::uint64_t now_ns) const {
    if (!given.up && given.times > 0 && now_ns > given.again_ns + pause_ns(given)) given.times = 0;
}

void OverheadBudget::try_again(std::vector<BudgetStep>& steps, std::uint64_t now_ns) {
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
        EventState& state = events_[event];
        forgive(state.stacks, now_ns);
        forgive(state.probes, now_ns);
        const auto again = [&](Given& given, BudgetStep::Action action) {
            if (!given.up || now_ns < given.again_ns) return;
            given.up = false;
            given.again_ns = now_ns;
            steps.push_back({action, event, {}});
        };
        again(state.probes, BudgetStep::Action::Attach);
        again(state.stacks, BudgetStep::Action::TakeStacks);
    }
}

std::vector<OverheadBudget::Cost> OverheadBudget::costliest(const WatchUse& use, settings::Shed kind) const {
    std::vector<Cost> costs;
    for (std::uint32_t event = 0; event < events_.size() && event < use.events.size(); ++event) {
        const EventUse& one = use.events[event];
        if (!one.armed || events_[event].probes.up) continue;
        const std::uint64_t stack_ns = events_[event].stacks.up ? 0 : one.stack_ns;
        if (kind == settings::Shed::Stacks && stack_ns > 0) costs.push_back({event, stack_ns});
        if (kind == settings::Shed::Events) costs.push_back({event, one.probe_ns + stack_ns});
    }
    std::stable_sort(costs.begin(), costs.end(), [](const Cost& a, const Cost& b) { return a.cost_ns > b.cost_ns; });
    return costs;
}

// What is left of an event that was given up, until its last probe is out, is not to be charged to others.
std::uint64_t OverheadBudget::cost_of(const WatchUse& use, std::uint32_t event) const {
    const EventUse& one = use.events[event];
    if (!one.armed || (event < events_.size() && events_[event].probes.up)) return 0;
    return one.probe_ns + one.stack_ns;
}

std::string OverheadBudget::reason_of(const WatchUse& use, const Cost& cost, settings::Shed kind,
                                      std::uint64_t all_ns) const {
    const auto percent = [&](std::uint64_t part_ns) { return percent_of_ppm(ppm_of(part_ns, use.elapsed_ns)); };
    const bool stacks = kind == settings::Shed::Stacks;
    const double hits_per_second =
        static_cast<double>(use.events[cost.event].hits) * 1e9 / static_cast<double>(use.elapsed_ns);
    std::string reason =
        fmt::format("{} took {} of a CPU with {:.0f} hits a second", stacks ? "stacks at its markers" : "its markers",
                    percent(cost.cost_ns), hits_per_second);
    const std::uint64_t others_ns = all_ns - std::min(all_ns, cost.cost_ns);
    const std::uint64_t share_ns = part_of(use.elapsed_ns, budget_.share_ppm);
    if (others_ns > 0)
        reason += fmt::format(", {} {}", stacks ? "other stacks and markers" : "other events", percent(others_ns));
    if (use.own_cpu_ns > share_ns / 2)
        reason +=
            fmt::format(", lagtrapd itself {} (of which {} count)", percent(use.own_cpu_ns), percent(share_ns / 2));
    else if (use.own_cpu_ns > 0)
        reason += fmt::format(", lagtrapd itself {}", percent(use.own_cpu_ns));
    return reason + fmt::format("; all that may take {}", percent_of_ppm(budget_.share_ppm));
}

void OverheadBudget::shed_until(std::uint64_t& cost_ns, std::uint64_t available_ns, const WatchUse& use,
                                settings::Shed kind, std::uint64_t now_ns, std::vector<BudgetStep>& steps) {
    for (const Cost& cost : costliest(use, kind)) {
        if (cost_ns <= available_ns || cost.cost_ns < available_ns / worthwhile_part) return;
        const bool stacks = kind == settings::Shed::Stacks;
        give_up(stacks ? events_[cost.event].stacks : events_[cost.event].probes, now_ns);
        steps.push_back({stacks ? BudgetStep::Action::DropStacks : BudgetStep::Action::Detach, cost.event,
                         reason_of(use, cost, kind, cost_ns)});
        cost_ns -= std::min(cost_ns, cost.cost_ns);
    }
}

std::vector<BudgetStep> OverheadBudget::look(const WatchUse& use, std::uint64_t now_ns) {
    std::vector<BudgetStep> steps;
    std::uint64_t cost_ns = 0;
    for (std::uint32_t event = 0; event < use.events.size(); ++event) cost_ns += cost_of(use, event);
    const std::uint64_t share_ns = part_of(use.elapsed_ns, budget_.share_ppm);
    // What the daemon does for itself (tables when it starts) shall not cost all events their place.
    const std::uint64_t available_ns = share_ns - std::min(use.own_cpu_ns, share_ns / 2);
    used_ppm_ = ppm_of(cost_ns + use.own_cpu_ns, use.elapsed_ns);
    exhausted_ = false;
    ++looks_;
    if (cost_ns <= available_ns) over_since_ = 0;
    if (cost_ns > available_ns && over_since_ == 0) over_since_ = looks_;
    const bool second_look = over_since_ != 0 && over_since_ < looks_;
    if (cost_ns > available_ns && (use.exact || second_look || cost_ns > 2 * available_ns)) {
        for (const settings::Shed kind : budget_.shed)
            if (kind == settings::Shed::Stacks || kind == settings::Shed::Events)
                shed_until(cost_ns, available_ns, use, kind, now_ns, steps);
        exhausted_ = cost_ns > available_ns;
    }
    try_again(steps, now_ns);
    return steps;
}

}  // namespace lagtrap::daemon
