#include "daemon/thresholds/threshold_report.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "settings/threshold_rule.hpp"

namespace lagtrap::daemon {
namespace {

constexpr double second_ns = 1e9;

const char* reason_name(ThresholdReason reason) {
    switch (reason) {
        case ThresholdReason::Learning: return "learning";
        case ThresholdReason::Percentile: return "percentile";
        case ThresholdReason::CaptureRate: return "capture-rate";
        case ThresholdReason::Floor: return "floor";
        case ThresholdReason::Longest: return "longest";
        case ThresholdReason::Step: return "step";
        case ThresholdReason::Raised: return "raised";
    }
    return "";
}

}  // namespace

boost::json::value threshold_report(const ThresholdKeeper& keeper, std::uint32_t number,
                                    std::uint64_t now_ns) {
    const auto found = keeper.decisions().find(number);
    if (found == keeper.decisions().end() || number >= keeper.events().size()) return nullptr;
    const ThresholdDecision& decision = found->second;
    const settings::Event& event = keeper.events()[number];
    const settings::AutoThreshold& limits = keeper.limits();
    const auto learn_ns = static_cast<std::uint64_t>(limits.learn.count());
    const std::uint64_t learn_left_ns = learn_ns - std::min(learn_ns, decision.window_ns);
    const std::uint64_t open_in_ns = decision.closed_until_ns.value_or(now_ns) -
                                     std::min(now_ns, decision.closed_until_ns.value_or(now_ns));
    return boost::json::object{
        {"rule", settings::threshold_rule_text(*event.threshold_rule)},
        {"reason", reason_name(decision.reason)},
        {"runs", decision.runs},
        {"min_runs", limits.min_runs},
        {"watched_seconds", static_cast<double>(decision.window_ns) / second_ns},
        {"learn_seconds_left", static_cast<double>(learn_left_ns) / second_ns},
        {"percentile_ns", decision.percentile_ns},
        {"target_ns", decision.target_ns},
        {"base_ns", decision.base_ns},
        {"floor_ns",
         static_cast<std::uint64_t>(event.threshold_rule->floor.value_or(limits.floor).count())},
        {"captures", decision.captures},
        {"captures_per_day", limits.captures_per_day},
        {"closed_seconds_left", static_cast<double>(open_in_ns) / second_ns}};
}

}  // namespace lagtrap::daemon
