// Tests whether an event became slower: a period against the one before it, unit by unit, and finds
// since when. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lagtrap::server::reports {

inline constexpr std::uint64_t hour_length_ns = 3600ULL * 1'000'000'000ULL;
inline constexpr std::uint64_t day_length_ns = 24 * hour_length_ns;

// How many runs of a unit have a property: took longer than a bound, or were delays.
struct UnitShare {
    double of = 0;     // runs; 1 if what is counted has no known total
    double above = 0;  // of these
};

// Two-sided p-value: how likely shares at least this different are if both periods are alike. The
// Mann-Whitney test over units, with mid-ranks for ties and the normal approximation. It counts
// units, not runs, because runs of the same hour are slow together. Units without runs are ignored.
// nullopt if a side has fewer than min_units.
inline constexpr std::size_t min_units = 4;
[[nodiscard]] std::optional<double> share_test(std::span<const UnitShare> before,
                                               std::span<const UnitShare> now);

struct BuildRuns {
    std::string build;
    double runs = 0, delays = 0;
};

struct HistoryUnit {
    std::uint64_t from_ns = 0;
    double runs = 0;  // 0: unknown
    double delays = 0;
    double p50_ns = 0, p99_ns = 0;  // 0: too few runs
    std::vector<BuildRuns> builds;
};

// An event's hours or days, without gaps.
struct History {
    std::uint64_t unit_ns = 0;
    // If false, only delays are recorded. Then HistoryUnit::runs is the number of hours that have
    // passed, and the builds' runs are their delays.
    bool runs_recorded = true;
    std::vector<HistoryUnit> units;
};

enum class Figure : std::uint8_t { P50, P99, Delays };

// A change of the level of a figure: nanoseconds, or delays by HistoryUnit::runs.
struct Step {
    Figure figure = Figure::P99;
    std::uint64_t from_ns = 0;  // the first unit after the change
    double before = 0, after = 0;
    double p_value = 1;
};

struct BuildBegin {
    std::string build;
    std::uint64_t first_ns = 0;  // its first run
};

// The build that hardly ran before the step and has most of the delays beyond the usual ones. If
// the number of delays is the same: that has most of the runs, or alone began with the step and has
// a tenth of the runs. Empty if there is none. `begins`: of any builds.
[[nodiscard]] std::string build_of_step(const History& history, const Step& step,
                                        std::span<const BuildBegin> begins);

// Oldest first (find_change_points()), without what comes round every day or week. A change when a
// new build began needs less evidence if most of it is that build's.
[[nodiscard]] std::vector<Step> find_steps(const History& history,
                                           std::span<const BuildBegin> begins);

// A change that lasts to the end of the history.
struct LastingChange {
    Step step;          // `after` is the level from the change to the end
    std::string build;  // build_of_step()
    // step.from_ns is when this build first ran; otherwise the start of the unit.
    bool from_first_run = false;
};

// The latest change that has not been undone since: the level at the end differs from that before
// the change by more than half of the change. What ends an exception of less than three days is no
// change. Of several figures, changes for the worse come first, then the largest factor. `begins`:
// of any builds.
[[nodiscard]] std::optional<LastingChange> lasting_change(const History& history,
                                                          std::span<const Step> steps,
                                                          std::span<const BuildBegin> begins);

// For each of `p_values`, the false discovery rate among those at most as high (Benjamini and
// Hochberg).
[[nodiscard]] std::vector<double> false_discovery_shares(const std::vector<double>& p_values);

}  // namespace lagtrap::server::reports
