#include "daemon/events/look_times.hpp"

#include <algorithm>

#include "daemon/events/pairing.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// Passes over the table and sweeps, which check the thread of every open run, use at most a
// hundredth of the time each. Meanwhile others wait for the table, so a sweep does part of it at a
// time.
constexpr std::uint64_t rest_factor = 100;
constexpr std::chrono::nanoseconds sweep_interval = 1s, part_interval = 1ms;
constexpr std::uint64_t belief_lasts_ns = 1'000'000'000;

std::uint64_t smallest_deadline_ns(const std::vector<settings::Event>& events,
                                   const EventThresholds& thresholds) {
    std::uint64_t smallest_ns = LAGTRAP_NEVER_NS;
    for (std::uint32_t event = 0; event < events.size(); ++event)
        if (events[event].breach == settings::BreachMode::Deadline)
            smallest_ns = std::min(smallest_ns, thresholds.of_ns(event));
    return smallest_ns;
}

// A run that begins from now on is not early before the smallest early point has passed.
std::uint64_t next_early_look_ns(const OpenRuns::Look& seen, const LookTimes& times) {
    std::uint64_t next_ns = times.early_is_on ? times.now_ns : seen.next_early_ns;
    for (const std::uint64_t point_ns : times.early_points_ns)
        if (point_ns != LAGTRAP_NEVER_NS) next_ns = std::min(next_ns, times.now_ns + point_ns);
    return next_ns == LAGTRAP_NEVER_NS ? next_ns
                                       : std::max(next_ns, times.now_ns + times.early_interval_ns);
}

}  // namespace

DeadlineThresholds::DeadlineThresholds(const std::vector<settings::Event>& events)
    : events_(events),
      thresholds_(events),
      smallest_ns_(smallest_deadline_ns(events, thresholds_)) {}

void DeadlineThresholds::set(std::uint32_t event, std::chrono::nanoseconds threshold) {
    thresholds_.set(event, threshold);
    smallest_ns_ = smallest_deadline_ns(events_, thresholds_);
}

std::uint64_t age_to_look_ns(std::uint64_t early_point_ns) {
    return std::max(early_point_ns, min_look_interval_ns);
}

std::uint64_t next_pass_ns(std::uint64_t began_ns, std::uint64_t ended_ns) {
    return ended_ns + std::clamp((ended_ns - began_ns) * rest_factor, min_look_interval_ns,
                                 max_look_interval_ns);
}

std::chrono::nanoseconds pause_after_sweep(std::chrono::nanoseconds took, bool done) {
    return std::max<std::chrono::nanoseconds>(rest_factor * took,
                                              done ? sweep_interval : part_interval);
}

// A run that begins from now on is not overdue before the smallest threshold has passed.
std::uint64_t next_look_ns(const OpenRuns::Look& seen, const LookTimes& times) {
    if (seen.visited == 0 && seen.next_due_ns == LAGTRAP_NEVER_NS && !times.has_begun &&
        !times.early_is_on)
        return LAGTRAP_NEVER_NS;
    std::uint64_t next_ns = std::min(seen.earliest_deadline_ns, seen.next_due_ns);
    if (times.smallest_threshold_ns != LAGTRAP_NEVER_NS)
        next_ns = std::min(next_ns, times.now_ns + times.smallest_threshold_ns);
    next_ns = std::min(next_ns, next_early_look_ns(seen, times));
    return next_ns == LAGTRAP_NEVER_NS ? next_ns : std::max(next_ns, times.not_before_ns);
}

const lagtrap_run& longest_overdue(const std::vector<lagtrap_run>& overdue) {
    return *std::min_element(overdue.begin(), overdue.end(),
                             [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
}

bool DeadlineBeliefs::believes(std::uint32_t event, std::uint64_t now_ns,
                               const CountersOf& counters_of, const RunsOf& runs_of) {
    if (event >= beliefs_.size()) return true;
    Belief& belief = beliefs_[event];
    if (now_ns < belief.until_ns) return belief.believed;
    const auto counters = counters_of(event);
    // Before the first end there is no experience, so a judgement of the first runs is valid for
    // one check only.
    const bool experienced = counters && counters->ends().hits > 0;
    belief = {!counters || believes_deadlines(*counters, runs_of(event)),
              now_ns + (experienced ? belief_lasts_ns : 1)};
    return belief.believed;
}

}  // namespace lagtrap::daemon
