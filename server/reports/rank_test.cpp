#include "server/reports/rank_test.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "server/reports/random.hpp"

namespace lagtrap::server::reports {

namespace {

constexpr std::size_t exact_limit = 60;
constexpr int permutations = 20'000;

// A group's ranks, divided as the sum wants them; the first `delayed` ones are of delayed runs.
struct Scores {
    std::vector<double> ranks;
    std::size_t delayed = 0;
    double sum = 0;
    double mean = 0;
    double variance = 0;
};

Scores scores_of(const RankGroup& group) {
    Scores scores;
    scores.delayed = group.delayed.size();
    std::vector<double> values = group.delayed;
    values.insert(values.end(), group.normal.begin(), group.normal.end());
    const std::size_t count = values.size();
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
    scores.ranks.resize(count);
    const auto n = static_cast<double>(count);
    const double weight = 1 / (n + 1);
    double ties = 0;
    for (std::size_t begin = 0; begin < count;) {
        std::size_t end = begin + 1;
        while (end < count && values[order[end]] == values[order[begin]]) ++end;
        const double rank = (static_cast<double>(begin + end) + 1) / 2;
        for (std::size_t i = begin; i < end; ++i) scores.ranks[order[i]] = rank * weight;
        const auto tied = static_cast<double>(end - begin);
        ties += tied * (tied * tied - 1);
        begin = end;
    }
    const auto d = static_cast<double>(scores.delayed);
    scores.sum =
        std::accumulate(scores.ranks.begin(), scores.ranks.begin() + static_cast<std::ptrdiff_t>(scores.delayed), 0.0);
    scores.mean = d / 2;
    scores.variance = d * (n - d) / 12 * (n + 1 - ties / (n * (n - 1))) * weight * weight;
    return scores;
}

double permuted_p(std::vector<Scores>& groups) {
    double seen = 0;
    for (const Scores& group : groups) seen += group.sum;
    Random random(1);
    int as_large = 0;
    for (int i = 0; i < permutations; ++i) {
        double sum = 0;
        for (Scores& group : groups) {
            for (std::size_t j = 0; j < group.delayed; ++j) {
                std::swap(group.ranks[j], group.ranks[j + random.below(group.ranks.size() - j)]);
                sum += group.ranks[j];
            }
        }
        if (sum >= seen - 1e-9) ++as_large;
    }
    return (as_large + 1.0) / (permutations + 1.0);
}

}  // namespace

double rank_test(std::span<const RankGroup> groups) {
    std::vector<Scores> all;
    std::size_t count = 0;
    double distance = 0;
    double variance = 0;
    for (const RankGroup& group : groups) {
        if (group.delayed.empty() || group.normal.empty()) continue;
        all.push_back(scores_of(group));
        count += all.back().ranks.size();
        distance += all.back().sum - all.back().mean;
        variance += all.back().variance;
    }
    if (all.empty() || variance <= 0) return 1;
    if (count <= exact_limit) return permuted_p(all);
    return 0.5 * std::erfc(distance / std::sqrt(variance) / std::sqrt(2.0));
}

std::vector<double> q_values(const std::vector<double>& p_values, std::size_t tests) {
    std::vector<std::size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
    std::vector<double> q(p_values.size(), 1);
    const auto all = static_cast<double>(std::max(tests, p_values.size()));
    double lowest = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
        lowest = std::min(lowest, p_values[order[i]] * all / static_cast<double>(i + 1));
        q[order[i]] = lowest;
    }
    return q;
}

}  // namespace lagtrap::server::reports
