#include "server/reports/rank_test.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "server/reports/random.hpp"

namespace lagtrap::server::reports {

namespace {

constexpr std::size_t exact_limit = 60;
constexpr int permutations = 20'000;
// up to this variance counts are exact, above it approximated as normal
constexpr double counted_variance = 100;

// A group's values, delayed runs first. rank() replaces the values of all groups by their ranks.
struct Scores {
    std::vector<double> values;
    std::size_t delayed = 0;
};

Scores scores_of(const RankGroup& group) {
    Scores scores;
    scores.delayed = group.delayed.size();
    scores.values = group.delayed;
    scores.values.insert(scores.values.end(), group.normal.begin(), group.normal.end());
    const double sum = std::accumulate(scores.values.begin(), scores.values.end(), 0.0);
    const double mean = sum / static_cast<double>(scores.values.size());
    for (double& value : scores.values) value -= mean;
    return scores;
}

void rank(std::vector<Scores>& groups) {
    std::vector<double*> order;
    for (Scores& group : groups) {
        for (double& value : group.values) order.push_back(&value);
    }
    std::sort(order.begin(), order.end(), [](const double* a, const double* b) { return *a < *b; });
    for (std::size_t begin = 0; begin < order.size();) {
        std::size_t end = begin + 1;
        while (end < order.size() && *order[end] == *order[begin]) ++end;
        for (std::size_t i = begin + 1; i < end; ++i)
            *order[i] = static_cast<double>(begin + end + 1) / 2;
        *order[begin] = static_cast<double>(begin + end + 1) / 2;
        begin = end;
    }
}

double sum_of_delayed(const Scores& group) {
    return std::accumulate(group.values.begin(),
                           group.values.begin() + static_cast<std::ptrdiff_t>(group.delayed), 0.0);
}

double permuted_p(std::vector<Scores>& groups) {
    double seen = 0;
    for (const Scores& group : groups) seen += sum_of_delayed(group);
    Random random(1);
    int as_large = 0;
    for (int i = 0; i < permutations; ++i) {
        double sum = 0;
        for (Scores& group : groups) {
            for (std::size_t j = 0; j < group.delayed; ++j) {
                std::swap(group.values[j], group.values[j + random.below(group.values.size() - j)]);
                sum += group.values[j];
            }
        }
        if (sum >= seen - 1e-9) ++as_large;
    }
    return (as_large + 1.0) / (permutations + 1.0);
}

double normal_p(const std::vector<Scores>& groups) {
    double distance = 0;
    double variance = 0;
    for (const Scores& group : groups) {
        const auto n = static_cast<double>(group.values.size());
        const auto d = static_cast<double>(group.delayed);
        const double mean = std::accumulate(group.values.begin(), group.values.end(), 0.0) / n;
        double squares = 0;
        for (const double value : group.values) squares += (value - mean) * (value - mean);
        distance += sum_of_delayed(group) - d * mean;
        variance += d * (n - d) / (n * (n - 1)) * squares;
    }
    return variance > 0 ? 0.5 * std::erfc(distance / std::sqrt(variance) / std::sqrt(2.0)) : 1;
}

double log_choose(std::size_t n, std::size_t k) {
    const auto real = [](std::size_t value) { return static_cast<double>(value) + 1; };
    return std::lgamma(real(n)) - std::lgamma(real(k)) - std::lgamma(real(n - k));
}

// The probabilities that low, low + 1 ... high of the runs above the bound are delayed.
std::vector<double> hypergeometric(const CountGroup& group, std::size_t low, std::size_t high) {
    const std::size_t above = group.delayed_above + group.normal_above;
    const double all = log_choose(group.delayed + group.normal, above);
    std::vector<double> chances;
    for (std::size_t count = low; count <= high; ++count) {
        chances.push_back(std::exp(log_choose(group.delayed, count) +
                                   log_choose(group.normal, above - count) - all));
    }
    return chances;
}

}  // namespace

double rank_test(std::span<const RankGroup> groups) {
    std::vector<Scores> all;
    std::size_t count = 0;
    for (const RankGroup& group : groups) {
        if (group.delayed.empty() || group.normal.empty()) continue;
        all.push_back(scores_of(group));
        count += all.back().values.size();
    }
    if (all.empty()) return 1;
    rank(all);
    return count <= exact_limit ? permuted_p(all) : normal_p(all);
}

double count_test(std::span<const CountGroup> groups) {
    double seen = 0;
    double mean = 0;
    double variance = 0;
    for (const CountGroup& group : groups) {
        if (group.delayed == 0 || group.normal == 0) continue;
        const auto n = static_cast<double>(group.delayed + group.normal);
        const auto d = static_cast<double>(group.delayed);
        const auto above = static_cast<double>(group.delayed_above + group.normal_above);
        seen += static_cast<double>(group.delayed_above);
        mean += d * above / n;
        variance += n < 2 ? 0 : d * (n - d) * above * (n - above) / (n * n * (n - 1));
    }
    if (variance == 0 || seen <= mean) return 1;
    if (variance > counted_variance)
        return 0.5 * std::erfc((seen - 0.5 - mean) / std::sqrt(2 * variance));
    std::vector<double> chances{1};  // by the sum of counts, relative to their minimum
    std::size_t least = 0;
    for (const CountGroup& group : groups) {
        if (group.delayed == 0 || group.normal == 0) continue;
        const std::size_t above = group.delayed_above + group.normal_above;
        const std::size_t low = above > group.normal ? above - group.normal : 0;
        const std::vector<double> own = hypergeometric(group, low, std::min(above, group.delayed));
        std::vector<double> sums(chances.size() + own.size() - 1, 0);
        for (std::size_t i = 0; i < chances.size(); ++i) {
            for (std::size_t j = 0; j < own.size(); ++j) sums[i + j] += chances[i] * own[j];
        }
        chances = std::move(sums);
        least += low;
    }
    double p = 0;
    for (std::size_t i = chances.size(); i-- > 0 && static_cast<double>(i + least) > seen - 0.5;)
        p += chances[i];
    return std::min(p, 1.0);
}

std::vector<double> q_values(const std::vector<double>& p_values, std::size_t tests) {
    std::vector<std::size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
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
