// Whether delayed runs have more of something than normal ones, by ranks within groups of comparable runs. Used inside
// server/reports/ alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lagtrap::server::reports {

// Runs that may be compared with each other: those of one host.
struct RankGroup {
    std::vector<double> delayed;
    std::vector<double> normal;
};

// One-sided p: how likely groups in which delayed and normal are alike would show delayed values at least as much larger.
// Hodges and Lehmann's test of aligned ranks (1962): values less their group's mean are ranked together, labels could have
// been others within groups alone. Ties by mid-ranks. By the normal approximation, or, up to 60 values in all, by 20,000
// permutations of a fixed seed.
// 1 where no group has both kinds.
[[nodiscard]] double rank_test(std::span<const RankGroup> groups);

// Of runs that may be compared with each other, how many have more of something than a bound.
struct CountGroup {
    std::size_t delayed = 0, normal = 0;
    std::size_t delayed_above = 0, normal_above = 0;  // of these
};

// One-sided p for the same, by counts: it sees what few of many delayed runs have, which ranks do not. The sum of
// hypergeometric counts (Fisher's exact test, within groups); by the normal approximation where its variance is over 100.
[[nodiscard]] double count_test(std::span<const CountGroup> groups);

// q-values of Benjamini and Hochberg for some of `tests` hypotheses, the others of which count as p = 1.
[[nodiscard]] std::vector<double> q_values(const std::vector<double>& p_values, std::size_t tests);

}  // namespace lagtrap::server::reports
