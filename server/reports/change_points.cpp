#include "server/reports/change_points.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/students_t.hpp>

#include "server/reports/quantiles.hpp"

namespace lagtrap::server::reports {

namespace {

constexpr std::size_t least_builds = 3;
// Splits with up to this times the p-value are examined first: separating what they divide can make
// others more significant.
constexpr double weak_factor = 10;

using Series = std::vector<double>;

struct Stretch {
    double mean = 0;
    double variance = 0;
    double count = 0;
};

Stretch stretch_of(const Series& series, std::size_t begin, std::size_t end) {
    Stretch stretch;
    stretch.count = static_cast<double>(end - begin);
    for (std::size_t i = begin; i < end; ++i) stretch.mean += series[i] / stretch.count;
    for (std::size_t i = begin; i < end; ++i) stretch.variance += std::pow(series[i] - stretch.mean, 2);
    stretch.variance /= std::max(stretch.count - 1, 1.0);
    return stretch;
}

// Two-sided Welch's t-test of the series before and from `place`.
double welch_p(const Series& series, std::size_t begin, std::size_t place, std::size_t end) {
    const Stretch a = stretch_of(series, begin, place);
    const Stretch b = stretch_of(series, place, end);
    // Medians without any variance would make everything significant; clocks are not more accurate
    // than this.
    constexpr double least_variance = 1e-8;
    const double a_part = std::max(a.variance, least_variance) / a.count;
    const double b_part = std::max(b.variance, least_variance) / b.count;
    const double t = std::abs(a.mean - b.mean) / std::sqrt(a_part + b_part);
    const double freedom =
        std::pow(a_part + b_part, 2) / (a_part * a_part / (a.count - 1) + b_part * b_part / (b.count - 1));
    return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t(freedom), t));
}

// The split with the largest weighted distance between the means of both sides; 0 if the stretch is
// too short.
std::size_t best_split(const Series& series, std::size_t begin, std::size_t end) {
    std::vector<double> sums(end - begin + 1, 0);
    for (std::size_t i = begin; i < end; ++i) sums[i - begin + 1] = sums[i - begin] + series[i];
    std::size_t best = 0;
    double most = 0;
    for (std::size_t place = begin + least_builds; place + least_builds <= end; ++place) {
        const auto n = static_cast<double>(place - begin);
        const auto m = static_cast<double>(end - place);
        const double distance = sums[place - begin] / n - (sums.back() - sums[place - begin]) / m;
        const double weight = n * m / (n + m) * distance * distance;
        if (weight <= most) continue;
        most = weight;
        best = place;
    }
    return best;
}

void split(const Series& series, std::size_t begin, std::size_t end, double highest_p,
           std::vector<std::size_t>& splits) {
    const std::size_t place = best_split(series, begin, end);
    if (place == 0 || welch_p(series, begin, place, end) > highest_p) return;
    split(series, begin, place, highest_p, splits);
    splits.push_back(place);
    split(series, place, end, highest_p, splits);
}

std::uint64_t median_of(std::span<const BuildMedian> builds, std::size_t begin, std::size_t end) {
    std::vector<double> values;
    for (std::size_t i = begin; i < end; ++i) values.push_back(static_cast<double>(builds[i].median_ns));
    return static_cast<std::uint64_t>(median(std::move(values)));
}

// The changes at the splits, each judged by the builds between its neighbours.
std::vector<ChangePoint> changes_at(std::span<const BuildMedian> builds, const Series& series,
                                    const std::vector<std::size_t>& splits) {
    std::vector<ChangePoint> changes;
    for (std::size_t i = 0; i < splits.size(); ++i) {
        const std::size_t begin = i == 0 ? 0 : splits[i - 1];
        const std::size_t end = i + 1 == splits.size() ? builds.size() : splits[i + 1];
        ChangePoint change;
        change.place = splits[i];
        change.build = builds[splits[i]].build;
        change.before_ns = median_of(builds, begin, splits[i]);
        change.after_ns = median_of(builds, splits[i], end);
        change.change = static_cast<double>(change.after_ns) / std::max(static_cast<double>(change.before_ns), 1.0) - 1;
        change.p_value = welch_p(series, begin, splits[i], end);
        changes.push_back(std::move(change));
    }
    return changes;
}

}  // namespace

std::vector<ChangePoint> find_change_points(std::span<const BuildMedian> builds, const ChangeOptions& options) {
    Series series;
    for (const BuildMedian& build : builds) {
        series.push_back(std::log(static_cast<double>(std::max<std::uint64_t>(build.median_ns, 1))));
    }
    const std::size_t window = std::max(options.window, 2 * least_builds);
    std::vector<std::size_t> splits;
    for (std::size_t begin = 0;; begin += window / 2) {
        const std::size_t end = std::min(begin + window, series.size());
        split(series, begin, end, options.highest_p * weak_factor, splits);
        if (end == series.size()) break;
    }
    std::sort(splits.begin(), splits.end());
    // Windows overlap. Of splits closer together than the minimum length of a side, keep the first.
    std::vector<std::size_t> apart;
    for (const std::size_t place : splits) {
        if (apart.empty() || place - apart.back() >= least_builds) apart.push_back(place);
    }
    for (;;) {
        std::vector<ChangePoint> changes = changes_at(builds, series, apart);
        const auto too_small = [&](const ChangePoint& change) {
            return std::abs(change.change) < options.least_change;
        };
        const auto weakest =
            std::max_element(changes.begin(), changes.end(), [&](const ChangePoint& a, const ChangePoint& b) {
                return too_small(a) != too_small(b) ? too_small(b) : a.p_value < b.p_value;
            });
        if (weakest == changes.end()) return changes;
        if (!too_small(*weakest) && weakest->p_value <= options.highest_p) return changes;
        apart.erase(apart.begin() + (weakest - changes.begin()));
    }
}

}  // namespace lagtrap::server::reports
