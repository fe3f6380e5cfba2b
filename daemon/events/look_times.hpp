// When the open runs are checked next, and whether overdue ones are believed. Uses neither the
// kernel nor a clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/events/early_watch.hpp"
#include "daemon/events/event_counters.hpp"
#include "daemon/events/event_thresholds.hpp"
#include "daemon/events/open_runs.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Minimum time between two checks, so that an event with a threshold of microseconds cannot keep
// the event monitor busy. A deadline may be noticed 2 ms late, so this is soon enough.
inline constexpr std::uint64_t min_look_interval_ns = 1'000'000;
inline constexpr std::uint64_t max_look_interval_ns = 20'000'000;

// The thresholds in force, of which checks need the smallest. Not thread-safe.
class DeadlineThresholds {
  public:
    // `events` must outlive this object.
    explicit DeadlineThresholds(const std::vector<settings::Event>& events);

    void set(std::uint32_t event, std::chrono::nanoseconds threshold);
    // Of the events whose delays are noticed at the deadline; LAGTRAP_NEVER_NS if there are none.
    [[nodiscard]] std::uint64_t smallest_ns() const { return smallest_ns_; }

  private:
    const std::vector<settings::Event>& events_;
    EventThresholds thresholds_;
    std::uint64_t smallest_ns_;
};

// The age at which the programs ask for a check of a run with this early point.
[[nodiscard]] std::uint64_t age_to_look_ns(std::uint64_t early_point_ns);

// When the next pass may begin, so that passes use at most a hundredth of the time, within limits.
[[nodiscard]] std::uint64_t next_pass_ns(std::uint64_t began_ns, std::uint64_t ended_ns);
// The pause after a sweep, or after a part of it if it is not `done`: likewise.
[[nodiscard]] std::chrono::nanoseconds pause_after_sweep(std::chrono::nanoseconds took, bool done);

// What decides about the next check besides the last one's result.
struct LookTimes {
    std::uint64_t now_ns = 0;                 // of the last check
    std::uint64_t smallest_threshold_ns = 0;  // DeadlineThresholds::smallest_ns()
    std::uint64_t not_before_ns = 0;          // next_pass_ns()
    bool early_is_on = false;                 // an early recording is running
    std::uint64_t early_interval_ns = 0;      // EarlyWatch::look_interval_ns()
    std::vector<std::uint64_t> early_points_ns;
    bool has_begun = false;  // a run began since the previous check
};
// LAGTRAP_NEVER_NS: only when a run begins.
[[nodiscard]] std::uint64_t next_look_ns(const OpenRuns::Look& seen, const LookTimes& times);

// The overdue run that began first. `overdue` must not be empty.
[[nodiscard]] const lagtrap_run& longest_overdue(const std::vector<lagtrap_run>& overdue);

// Whether overdue runs of events are believed to be slow (believes_deadlines()). Each judgement
// lasts a second. Not thread-safe.
class DeadlineBeliefs {
  public:
    explicit DeadlineBeliefs(std::size_t events) : beliefs_(events) {}

    using CountersOf = std::function<Result<EventCounters>(std::uint32_t event)>;
    using RunsOf = std::function<OpenRuns::Counts(std::uint32_t event)>;
    // True for unknown events, and if the counters cannot be read.
    [[nodiscard]] bool believes(std::uint32_t event, std::uint64_t now_ns,
                                const CountersOf& counters_of, const RunsOf& runs_of);

  private:
    struct Belief {
        bool believed = true;
        std::uint64_t until_ns = 0;
    };
    std::vector<Belief> beliefs_;
};

}  // namespace lagtrap::daemon
