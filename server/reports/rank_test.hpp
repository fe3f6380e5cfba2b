// Tests whether delayed runs have more of something than normal ones, by ranks within groups of
// comparable runs. Internal to server/reports/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lagtrap::server::reports {

// Runs that can be compared with each other: those of one host.
struct RankGroup {
    std::vector<double> delayed;
    std::vector<double> normal;
};

// One-sided p-value: how likely values this much larger in delayed runs are if delayed and normal
// runs do not differ within groups. The aligned rank test of Hodges and Lehmann (1962): ranks the
// values minus their group's mean together, and permutes labels only within groups. Ties get
// mid-ranks. Uses the normal approximation, or, for up to 60 values in all, 20,000 permutations
// with a fixed seed. Returns 1 if no group has both kinds.
[[nodiscard]] double rank_test(std::span<const RankGroup> groups);

// How many comparable runs have more of something than a bound.
struct CountGroup {
    std::size_t delayed = 0, normal = 0;
    std::size_t delayed_above = 0, normal_above = 0;  // of these
};

// One-sided p-value of the same question by counts: it detects what few of many delayed runs have,
// which ranks do not. A sum of hypergeometric counts (Fisher's exact test within groups), with the
// normal approximation for a variance over 100.
[[nodiscard]] double count_test(std::span<const CountGroup> groups);

// q-values by Benjamini and Hochberg for some of `tests` hypotheses; the others count as p = 1.
[[nodiscard]] std::vector<double> q_values(const std::vector<double>& p_values, std::size_t tests);

}  // namespace lagtrap::server::reports
