#include "daemon/budget/overhead_recording.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "core/duration.hpp"
#include "daemon/budget/difference.hpp"
#include "daemon/budget/millionths.hpp"
#include "daemon/budget/overhead_budget.hpp"

namespace lagtrap::daemon {
namespace {

// Disabling something that causes less than this fraction of the cost is not worth it.
constexpr std::uint64_t worthwhile_recording_part = 10;

}  // namespace

void RecordingBudget::begin(const settings::Budget& budget, const settings::Recording& recording,
                            std::uint32_t cpus, const RecordingUse& use) {
    budget_ = budget;
    first_interval_ = interval_ = recording.sample_interval;
    switch_stacks_ = recording.scheduling;
    cpus_ = std::max(cpus, 1U);
    began_ns_ = looked_ns_ = use.at_ns;
    before_ = use;
}

bool RecordingBudget::due(std::uint64_t now_ns) const {
    return since(now_ns, looked_ns_) >=
           static_cast<std::uint64_t>(std::chrono::nanoseconds(look_interval).count());
}

std::optional<RecordingBudget::Step> RecordingBudget::step_of(settings::BudgetPart kind,
                                                              const RecordingUse& delta,
                                                              std::uint64_t cost_ns) {
    if (kind == settings::BudgetPart::Switches) {
        if (!switch_stacks_ || delta.switches_ns < cost_ns / worthwhile_recording_part) return {};
        switch_stacks_ = false;
        return Step{kind, {}, "no user-space stacks of blocking threads"};
    }
    if (kind == settings::BudgetPart::Samples) {
        if (interval_ >= first_interval_ * max_sample_interval ||
            delta.samples_ns < cost_ns / worthwhile_recording_part)
            return {};
        interval_ *= 2;
        return Step{kind, interval_,
                    fmt::format("call stacks every {} instead of {}", format_duration(interval_),
                                format_duration(first_interval_))};
    }
    return {};
}

std::optional<RecordingBudget::Step> RecordingBudget::look(const RecordingUse& use) {
    if (!due(use.at_ns)) return {};
    const RecordingUse delta{
        since(use.at_ns, before_.at_ns), since(use.samples_ns, before_.samples_ns),
        since(use.switches_ns, before_.switches_ns), since(use.others_ns, before_.others_ns)};
    looked_ns_ = use.at_ns;
    const std::uint64_t cost_ns = delta.samples_ns + delta.switches_ns + delta.others_ns;
    const std::uint64_t judged_ns =
        std::max<std::uint64_t>(delta.at_ns, std::chrono::nanoseconds(window).count());
    const double judged_ppm =
        static_cast<double>(cost_ns) * 1e6 / static_cast<double>(judged_ns) / cpus_;
    const bool too_much = judged_ppm > static_cast<double>(budget_.recording_share_ppm);
    if (too_much || judged_ns == delta.at_ns) before_ = use;
    if (!too_much) return {};
    const double used_ppm =
        static_cast<double>(cost_ns) * 1e6 / static_cast<double>(delta.at_ns) / cpus_;
    for (const settings::BudgetPart kind : budget_.disable) {
        auto step = step_of(kind, delta, cost_ns);
        if (!step) continue;
        step->sentence = fmt::format(
            "from {} on, {}: recording took {} of the CPUs; the limit is {}",
            format_duration(std::chrono::milliseconds(since(use.at_ns, began_ns_) / 1'000'000)),
            step->sentence, percent_of_ppm(static_cast<std::uint64_t>(used_ppm)),
            percent_of_ppm(budget_.recording_share_ppm));
        return step;
    }
    return {};
}

}  // namespace lagtrap::daemon
