#include "server/reports/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "server/reports/quantiles.hpp"
#include "server/reports/random.hpp"

namespace lagtrap::server::reports {

namespace {

constexpr double highest_tail = 0.025;  // probability beyond each end of the interval
// of both sides: up to this number the distribution is exact, above it normal
constexpr std::size_t counted_runs = 50;

using Durations = std::vector<std::int64_t>;  // sorted

// The number of pairs of a run of a and a run of b with b - a at most `limit`, in one pass over
// both.
std::uint64_t pairs_within(const Durations& a, const Durations& b, std::int64_t limit) {
    std::uint64_t pairs = 0;
    std::size_t below = 0;  // values of a that are too small for the current b
    for (const std::int64_t duration : b) {
        while (below < a.size() && duration - a[below] > limit) ++below;
        pairs += a.size() - below;
    }
    return pairs;
}

// The difference of the given rank among all pairs; rank 1 is the smallest.
std::int64_t difference_of_rank(const Durations& a, const Durations& b, std::uint64_t rank) {
    std::int64_t low = b.front() - a.back() - 1;
    std::int64_t high = b.back() - a.front();
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (pairs_within(a, b, middle) >= rank ? high : low) = middle;
    }
    return high;
}

// By number of pairs in which b is larger: the share of all orderings of a_runs and b_runs
// identical runs with that number.
std::vector<double> chances_of_pairs(std::size_t a_runs, std::size_t b_runs) {
    // The Gaussian binomial coefficient: the product of (1 - x^(b_runs + i)) / (1 - x^i) for i from
    // 1 to a_runs.
    std::vector<double> counts(a_runs * b_runs + 1, 0);
    counts[0] = 1;
    for (std::size_t i = 1; i <= a_runs; ++i) {
        for (std::size_t at = counts.size(); at-- > b_runs + i;)
            counts[at] -= counts[at - b_runs - i];
        for (std::size_t at = i; at < counts.size(); ++at) counts[at] += counts[at - i];
    }
    double all = 0;
    for (const double count : counts) all += count;
    for (double& count : counts) count /= all;
    return counts;
}

// The rank of the interval's low end; 0 if there are too few runs for an interval.
std::uint64_t rank_of_low_end(std::size_t a_runs, std::size_t b_runs) {
    const auto pairs = static_cast<double>(a_runs * b_runs);
    if (a_runs + b_runs > counted_runs) {
        const double deviation = std::sqrt(pairs * static_cast<double>(a_runs + b_runs + 1) / 12);
        return static_cast<std::uint64_t>(
            std::max(0.0, std::floor(pairs / 2 - 1.959964 * deviation)));
    }
    double tail = 0;
    std::uint64_t rank = 0;
    for (const double chance : chances_of_pairs(a_runs, b_runs)) {
        tail += chance;
        if (tail > highest_tail) break;
        ++rank;
    }
    return rank;
}

std::vector<double> as_doubles(const Durations& durations) {
    return {durations.begin(), durations.end()};
}

Durations sample_of(Durations durations, std::size_t most, Random& random) {
    for (std::size_t i = 0; durations.size() > most && i < most; ++i) {
        std::swap(durations[i], durations[i + random.below(durations.size() - i)]);
    }
    durations.resize(std::min(durations.size(), std::max<std::size_t>(most, 1)));
    std::sort(durations.begin(), durations.end());
    return durations;
}

Difference difference_of(const Durations& all_a, const Durations& all_b,
                         const CompareOptions& options) {
    Difference difference;
    difference.a_runs = all_a.size();
    difference.b_runs = all_b.size();
    if (!all_a.empty())
        difference.a_median_ns = static_cast<std::uint64_t>(median(as_doubles(all_a)));
    if (!all_b.empty())
        difference.b_median_ns = static_cast<std::uint64_t>(median(as_doubles(all_b)));
    if (all_a.empty() || all_b.empty()) return difference;
    Random random(options.seed);
    const Durations a = sample_of(all_a, options.max_runs, random);
    const Durations b = sample_of(all_b, options.max_runs, random);
    const std::uint64_t pairs = a.size() * b.size();
    difference.difference_ns = difference_of_rank(a, b, (pairs + 1) / 2);
    const std::uint64_t rank = rank_of_low_end(a.size(), b.size());
    if (rank == 0) return difference;
    difference.interval =
        Interval{difference_of_rank(a, b, rank), difference_of_rank(a, b, pairs + 1 - rank)};
    difference.evidence = difference.interval->low_ns > 0 || difference.interval->high_ns < 0;
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

void collect_stages(std::span<const ComparedRun> runs, Durations Stage::*side,
                    std::vector<Stage>& stages, std::map<std::string, std::size_t>& places) {
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

Comparison compare_runs(std::span<const ComparedRun> a, std::span<const ComparedRun> b,
                        const CompareOptions& options) {
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
