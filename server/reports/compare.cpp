#include "server/reports/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "server/reports/quantiles.hpp"
#include "server/reports/random.hpp"
#include "server/reports/rank_test.hpp"

namespace lagtrap::server::reports {

namespace {

constexpr std::size_t least_runs = 5;
constexpr double highest_p = 0.05;

using Durations = std::vector<std::int64_t>;  // sorted
using Counts = std::vector<std::uint32_t>;    // how often a resample has each

// Differences of at most `limit` among all pairs, in one pass over both.
std::uint64_t pairs_within(const Durations& a, const Counts& a_counts, const Durations& b, const Counts& b_counts,
                           std::uint64_t a_total, std::int64_t limit) {
    std::uint64_t pairs = 0;
    std::uint64_t below = 0;  // of a, values that are too small for the b at hand
    std::size_t at = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
        while (at < a.size() && b[j] - a[at] > limit) below += a_counts[at++];
        pairs += (a_total - below) * b_counts[j];
    }
    return pairs;
}

struct Bracket {
    std::int64_t low = 0, high = 0, step = 1;
};

// The least difference, to the step, that half of all pairs do not pass.
std::int64_t median_difference(const Durations& a, const Counts& a_counts, const Durations& b, const Counts& b_counts,
                               Bracket bracket) {
    const std::uint64_t half = (a.size() * b.size() + 1) / 2;
    const auto reaches = [&](std::int64_t limit) {
        return pairs_within(a, a_counts, b, b_counts, a.size(), limit) >= half;
    };
    const std::int64_t width = std::max<std::int64_t>(bracket.high - bracket.low, 1);
    for (std::int64_t by = width; reaches(bracket.low); by *= 4) bracket.low -= by;
    for (std::int64_t by = width; !reaches(bracket.high); by *= 4) bracket.high += by;
    while (bracket.high - bracket.low > bracket.step) {
        const std::int64_t middle = bracket.low + (bracket.high - bracket.low) / 2;
        (reaches(middle) ? bracket.high : bracket.low) = middle;
    }
    return bracket.high;
}

Counts resample(std::size_t count, Random& random) {
    Counts counts(count, 0);
    for (std::size_t i = 0; i < count; ++i) ++counts[random.below(count)];
    return counts;
}

std::vector<double> as_doubles(const Durations& durations) { return {durations.begin(), durations.end()}; }

void add_interval(const Durations& a, const Durations& b, const CompareOptions& options, Difference& difference) {
    const auto spread = [](const Durations& values) {
        const auto doubles = as_doubles(values);
        return quantile(doubles, 0.75) - quantile(doubles, 0.25);
    };
    // About the standard error: the interval is looked for in its neighbourhood, to a fraction of it.
    const double error = (spread(a) + spread(b)) / std::sqrt(static_cast<double>(std::min(a.size(), b.size())));
    const auto near = static_cast<std::int64_t>(4 * error) + 1;
    const Bracket bracket{difference.difference_ns - near, difference.difference_ns + near,
                          std::max<std::int64_t>(static_cast<std::int64_t>(error / 256), 1)};
    Random random(options.seed);
    std::vector<double> found;
    for (std::uint32_t i = 0; i < options.resamples; ++i) {
        const Counts a_counts = resample(a.size(), random);
        const Counts b_counts = resample(b.size(), random);
        found.push_back(static_cast<double>(median_difference(a, a_counts, b, b_counts, bracket)));
    }
    if (found.empty()) return;
    std::sort(found.begin(), found.end());
    difference.low_ns = static_cast<std::int64_t>(std::floor(quantile(found, 0.025)));
    difference.high_ns = static_cast<std::int64_t>(std::ceil(quantile(found, 0.975)));
}

bool ranks_agree(const Durations& a, const Durations& b) {
    const RankGroup b_larger{as_doubles(b), as_doubles(a)};
    const RankGroup a_larger{as_doubles(a), as_doubles(b)};
    return 2 * std::min(rank_test({&b_larger, 1}), rank_test({&a_larger, 1})) <= highest_p;
}

Durations sample_of(Durations durations, std::size_t most, Random& random) {
    for (std::size_t i = 0; durations.size() > most && i < most; ++i) {
        std::swap(durations[i], durations[i + random.below(durations.size() - i)]);
    }
    durations.resize(std::min(durations.size(), std::max<std::size_t>(most, 1)));
    std::sort(durations.begin(), durations.end());
    return durations;
}

Difference difference_of(const Durations& all_a, const Durations& all_b, const CompareOptions& options) {
    Difference difference;
    difference.a_runs = all_a.size();
    difference.b_runs = all_b.size();
    if (!all_a.empty()) difference.a_median_ns = static_cast<std::uint64_t>(median(as_doubles(all_a)));
    if (!all_b.empty()) difference.b_median_ns = static_cast<std::uint64_t>(median(as_doubles(all_b)));
    if (all_a.empty() || all_b.empty()) return difference;
    Random random(options.seed);
    const Durations a = sample_of(all_a, options.most_runs, random);
    const Durations b = sample_of(all_b, options.most_runs, random);
    const Bracket whole{b.front() - a.back() - 1, b.back() - a.front(), 1};
    difference.difference_ns = median_difference(a, Counts(a.size(), 1), b, Counts(b.size(), 1), whole);
    add_interval(a, b, options, difference);
    const bool holds_zero = difference.low_ns <= 0 && difference.high_ns >= 0;
    const bool enough = all_a.size() >= least_runs && all_b.size() >= least_runs;
    difference.evidence = enough && !holds_zero && ranks_agree(a, b);
    return difference;
}

// A hostile duration must not overflow a difference.
std::int64_t bounded(std::uint64_t duration_ns) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(duration_ns, 1ULL << 60));
}

struct Stage {
    std::string name;
    Durations a, b;
};

void collect_stages(std::span<const ComparedRun> runs, Durations Stage::*side, std::vector<Stage>& stages,
                    std::map<std::string, std::size_t>& places) {
    for (const ComparedRun& run : runs) {
        std::map<std::size_t, std::uint64_t> sums;
        for (const ComparedStage& stage : run.stages) {
            const auto [place, added] = places.try_emplace(stage.name, stages.size());
            if (added) stages.push_back({stage.name, {}, {}});
            std::uint64_t& sum = sums[place->second];
            sum += std::min(stage.duration_ns, UINT64_MAX - sum);
        }
        for (const auto& [place, sum] : sums) (stages[place].*side).push_back(bounded(sum));
    }
}

}  // namespace

Comparison compare_runs(std::span<const ComparedRun> a, std::span<const ComparedRun> b, const CompareOptions& options) {
    const auto durations_of = [](std::span<const ComparedRun> runs) {
        Durations durations;
        for (const ComparedRun& run : runs) durations.push_back(bounded(run.duration_ns));
        return durations;
    };
    Comparison comparison;
    comparison.whole = difference_of(durations_of(a), durations_of(b), options);
    std::vector<Stage> stages;
    std::map<std::string, std::size_t> places;
    collect_stages(a, &Stage::a, stages, places);
    collect_stages(b, &Stage::b, stages, places);
    for (const Stage& stage : stages) {
        comparison.stages.push_back({stage.name, difference_of(stage.a, stage.b, options)});
    }
    return comparison;
}

}  // namespace lagtrap::server::reports
