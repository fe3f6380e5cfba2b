#include "daemon/thresholds/threshold_policy.hpp"

#include <algorithm>

#include "settings/threshold_rule.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t largest_step = 2;

std::uint64_t count_of(std::chrono::nanoseconds duration) {
    return static_cast<std::uint64_t>(duration.count());
}

std::uint64_t longest_ns() { return count_of(settings::max_threshold); }

}  // namespace

void ThresholdState::move(std::int64_t by_ns) {
    const std::uint64_t into_hour_ns = RunHistory::hour_ns / 2;
    base_hour = moved(base_hour * RunHistory::hour_ns + into_hour_ns, by_ns) / RunHistory::hour_ns;
    raised_at_ns = moved(raised_at_ns, by_ns);
    for (std::uint64_t& capture_ns : captures_ns) capture_ns = moved(capture_ns, by_ns);
}

// The end of the bucket, so that no such run exceeds it.
std::uint64_t percentile_of(const RunHistogram& runs, std::uint32_t share_ppm) {
    const std::uint64_t total = runs_in(runs);
    const auto over =
        static_cast<std::uint64_t>(static_cast<double>(total) * (1'000'000 - share_ppm) / 1e6);
    std::uint64_t longer = 0;
    for (std::size_t bucket = runs.size(); bucket-- > 0;) {
        longer += runs[bucket];
        if (longer > over) return std::min(bucket_end_ns(bucket), longest_ns());
    }
    return 0;
}

ThresholdPolicy::ThresholdPolicy(const settings::ThresholdRule& rule,
                                 const settings::AutoThreshold& limits)
    : rule_(rule),
      limits_(limits),
      rule_text_(settings::threshold_rule_text(rule)),
      floor_ns_(count_of(rule.floor.value_or(limits.floor))) {}

std::uint64_t ThresholdPolicy::limited(std::uint64_t threshold_ns) const {
    return std::clamp(threshold_ns, floor_ns_, longest_ns());
}

// The smallest end of a bucket that at most captures_per_day of the runs exceeded per day. An event
// that was watched for less than a day had its runs in a day.
std::uint64_t ThresholdPolicy::rarely_exceeded_ns(const RunHistogram& runs,
                                                  std::uint64_t watched_ns) const {
    const double days =
        static_cast<double>(std::max(watched_ns, day_ns)) / static_cast<double>(day_ns);
    const auto allowed = static_cast<std::uint64_t>(days * limits_.captures_per_day);
    std::uint64_t longer = 0;
    for (std::size_t bucket = runs.size(); bucket-- > 0;) {
        longer += runs[bucket];
        if (longer > allowed) return std::min(bucket_end_ns(bucket), longest_ns());
    }
    return 0;
}

ThresholdPolicy::Target ThresholdPolicy::target_of(const RunHistogram& runs,
                                                   const ThresholdDecision& facts) const {
    const double wanted = static_cast<double>(facts.percentile_ns) * rule_.factor_hundredths / 100;
    Target target{static_cast<std::uint64_t>(std::min(wanted, static_cast<double>(longest_ns()))),
                  ThresholdReason::Percentile};
    if (const std::uint64_t rare_ns = rarely_exceeded_ns(runs, facts.window_ns);
        rare_ns > target.ns)
        target = {rare_ns, ThresholdReason::CaptureRate};
    if (target.ns < floor_ns_) target = {floor_ns_, ThresholdReason::Floor};
    if (target.ns >= longest_ns()) target = {longest_ns(), ThresholdReason::Longest};
    return target;
}

void ThresholdPolicy::move_base(ThresholdState& state, std::uint64_t target_ns,
                                std::uint64_t hour) const {
    if (state.base_ns == 0 || state.rule != rule_text_)
        state.base_ns = target_ns;
    else if (hour > state.base_hour)
        state.base_ns =
            std::clamp(target_ns, state.base_ns / largest_step, state.base_ns * largest_step);
    else
        return;
    state.rule = rule_text_;
    state.base_hour = hour;
}

void ThresholdPolicy::raise(ThresholdState& state, const RunHistogram& added,
                            std::uint64_t threshold_ns, std::uint64_t now_ns) const {
    std::size_t longest = added.size();
    while (longest > 0 && added[longest - 1] == 0) --longest;
    if (longest == 0 ||
        lagtrap_histogram_bucket_start_ns(static_cast<std::uint32_t>(longest - 1)) < threshold_ns)
        return;
    if (state.captures_ns.size() * 2 >= limits_.captures_per_day)
        state.raised_ns =
            limited(std::min(bucket_end_ns(longest - 1), threshold_ns * largest_step));
    state.raised_at_ns = now_ns;
}

void ThresholdPolicy::relax(ThresholdState& state, std::uint64_t now_ns) const {
    const std::uint64_t quiet_ns = count_of(limits_.quiet);
    while (state.raised_ns != 0 && now_ns >= state.raised_at_ns + quiet_ns) {
        state.raised_at_ns += quiet_ns;
        state.raised_ns /= largest_step;
        if (state.raised_ns <= state.base_ns) state.raised_ns = 0;
    }
}

ThresholdDecision ThresholdPolicy::decide(ThresholdState& state, const EventRuns& runs,
                                          const RunHistogram& added, std::uint64_t now_ns) const {
    ThresholdDecision facts;
    while (!state.captures_ns.empty() && state.captures_ns.front() + day_ns <= now_ns)
        state.captures_ns.pop_front();
    facts.captures = state.captures_ns.size();
    if (facts.captures >= limits_.captures_per_day)
        facts.closed_until_ns =
            state.captures_ns[facts.captures - limits_.captures_per_day] + day_ns;
    facts.window_ns = std::min(now_ns - std::min(now_ns, runs.since_ns), window_ns);
    const RunHistogram window = runs.sum(now_ns - std::min(now_ns, window_ns));
    facts.runs = runs_in(window);
    facts.percentile_ns = percentile_of(window, rule_.percentile_ppm);
    const bool knows = facts.runs >= limits_.min_runs && facts.window_ns >= count_of(limits_.learn);
    if (state.base_ns == 0 && !knows) {
        facts.threshold_ns = longest_ns();
        return facts;
    }
    // After a long pause, the old base is better than one from few runs.
    Target target{state.base_ns, ThresholdReason::Step};
    if (knows) {
        target = target_of(window, facts);
        move_base(state, target.ns, now_ns / RunHistory::hour_ns);
    }
    relax(state, now_ns);
    raise(state, added, limited(std::max(state.base_ns, state.raised_ns)), now_ns);
    facts.target_ns = target.ns;
    facts.base_ns = state.base_ns;
    facts.threshold_ns = limited(std::max(state.base_ns, state.raised_ns));
    facts.reason = target.reason;
    if (state.base_ns != target.ns) facts.reason = ThresholdReason::Step;
    if (state.raised_ns > state.base_ns) facts.reason = ThresholdReason::Raised;
    return facts;
}

}  // namespace lagtrap::daemon
