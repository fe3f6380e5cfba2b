// Whether an event became slower: this stretch of time against the one before it, unit by unit. Pure functions; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lagtrap::server::reports {

// How many of a unit's runs have something: took longer than a bound, were delays.
struct UnitShare {
    double of = 0;     // runs; 1 where what is counted is no part of a known whole
    double above = 0;  // of these
};

// Two-sided p: how likely two stretches that are alike would show shares at least as different. Mann and Whitney's test over the
// units, ties by mid-ranks, by the normal approximation. A unit and not a run is what is counted: runs of the same
// hour are slow together. Units without runs say nothing. Nothing where a side has fewer than least_units.
inline constexpr std::size_t least_units = 4;
[[nodiscard]] std::optional<double> share_test(std::span<const UnitShare> before, std::span<const UnitShare> now);

// A unit of a series without gaps.
struct SeriesUnit {
    std::uint64_t from_ns = 0;
    double value = 0;  // 0: nothing known
};

struct LevelChange {
    std::uint64_t from_ns = 0;  // the first unit after the change
    double before = 0, after = 0;
    double p_value = 1;
};

// The changes of level in a series, oldest first (find_change_points() over its units). `cycle`, where not 0, is how many
// units make up what comes round again, such as 24 hours: a change that the cycle before had at the same place as
// well, by more than half, is none.
[[nodiscard]] std::vector<LevelChange> level_changes(std::span<const SeriesUnit> series, std::size_t cycle);

// The share of false discoveries among all whose p is at most as high (Benjamini and Hochberg), for each of `p_values`.
[[nodiscard]] std::vector<double> false_discovery_shares(const std::vector<double>& p_values);

}  // namespace lagtrap::server::reports
