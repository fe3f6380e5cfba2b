// Tests whether an event became slower: a period against the one before it, unit by unit. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lagtrap::server::reports {

// How many runs of a unit have a property: took longer than a bound, or were delays.
struct UnitShare {
    double of = 0;     // runs; 1 if what is counted has no known total
    double above = 0;  // of these
};

// Two-sided p-value: how likely shares at least this different are if both periods are alike. The
// Mann-Whitney test over units, with mid-ranks for ties and the normal approximation. It counts
// units, not runs, because runs of the same hour are slow together. Units without runs are ignored.
// nullopt if a side has fewer than least_units.
inline constexpr std::size_t least_units = 4;
[[nodiscard]] std::optional<double> share_test(std::span<const UnitShare> before, std::span<const UnitShare> now);

// A unit of a series without gaps.
struct SeriesUnit {
    std::uint64_t from_ns = 0;
    double value = 0;  // 0: unknown
};

struct LevelChange {
    std::uint64_t from_ns = 0;  // the first unit after the change
    double before = 0, after = 0;
    double p_value = 1;
};

// The changes of level in a series, oldest first (find_change_points() over its units). `cycle`, if
// not 0, is the length of a regular cycle in units, such as 24 hours. Ignores a change if more than
// half of it also happened at the same place one cycle earlier.
[[nodiscard]] std::vector<LevelChange> level_changes(std::span<const SeriesUnit> series, std::size_t cycle);

// For each of `p_values`, the false discovery rate among those at most as high (Benjamini and
// Hochberg).
[[nodiscard]] std::vector<double> false_discovery_shares(const std::vector<double>& p_values);

}  // namespace lagtrap::server::reports
