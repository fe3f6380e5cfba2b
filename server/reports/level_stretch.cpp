#include "server/reports/level_stretch.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/students_t.hpp>

namespace lagtrap::server::reports {
namespace {

double two_sided_p(double t, double freedom) {
    return 2 * boost::math::cdf(boost::math::complement(
                   boost::math::students_t(std::max(freedom, 1.0)), std::abs(t)));
}

// The mean of the smaller four fifths of the squared differences of units that are `lag` apart:
// changes of level and bursts are in the rest.
double mean_square_of_differences(const std::vector<double>& values, std::size_t lag) {
    std::vector<double> squares;
    for (std::size_t i = lag; i < values.size(); ++i)
        squares.push_back(std::pow(values[i] - values[i - lag], 2));
    std::sort(squares.begin(), squares.end());
    squares.resize(squares.size() - squares.size() / 5);
    double sum = 0;
    for (const double square : squares) sum += square;
    return squares.empty() ? 0 : sum / static_cast<double>(squares.size());
}

}  // namespace

StretchSums::StretchSums(const KnownUnits& known)
    : known_(known), sums_(known.units.size() + 1, 0), weights_(known.units.size() + 1, 0) {
    for (std::size_t i = 0; i < known.units.size(); ++i) {
        sums_[i + 1] = sums_[i] + known.units[i].sum;
        weights_[i + 1] = weights_[i] + known.units[i].weight;
    }
}

double StretchSums::level(std::size_t begin, std::size_t end) const {
    const double sum = sums_[end] - sums_[begin], weight = weights_[end] - weights_[begin];
    return known_.kind == LevelKind::Value
               ? sum / weight
               : 2 * std::sqrt((std::max(sum, 0.0) + count_offset) / weight);
}

double StretchSums::share(std::size_t begin, std::size_t end) const {
    return std::max(sums_[end] - sums_[begin], known_.kind == LevelKind::Count ? 0.0 : -HUGE_VAL) /
           weight(begin, end);
}

Stretch StretchSums::stretch(std::size_t begin, std::size_t end) const {
    Stretch stretch{level(begin, end), share(begin, end), weight(begin, end), 0,
                    static_cast<double>(end - begin)};
    for (std::size_t i = begin; i < end; ++i) stretch.variance += square_of(i, stretch.share);
    stretch.variance =
        std::max(stretch.variance / std::max(stretch.count - 1, 1.0), min_variance());
    return stretch;
}

// Counting alone varies by 1; clocks are not more accurate than the other.
double StretchSums::min_variance() const { return known_.kind == LevelKind::Value ? 1e-8 : 1; }

double StretchSums::square_of(std::size_t unit, double share) const {
    const LevelUnit& one = known_.units[unit];
    const double away = one.sum - one.weight * share;
    if (known_.kind == LevelKind::Value) return away * away;
    return share > 0 ? away * away / (one.weight * share) : 0;
}

KnownUnits known_of(std::span<const LevelUnit> units, LevelKind kind) {
    KnownUnits known;
    known.kind = kind;
    for (std::size_t i = 0; i < units.size(); ++i) {
        if (units[i].weight <= 0) continue;
        known.units.push_back(units[i]);
        known.places.push_back(i);
    }
    return known;
}

double welch_p(const Stretch& a, const Stretch& b) {
    const double a_part = a.variance / a.weight, b_part = b.variance / b.weight;
    const double freedom = std::pow(a_part + b_part, 2) /
                           (a_part * a_part / (a.count - 1) + b_part * b_part / (b.count - 1));
    return two_sided_p((a.level - b.level) / std::sqrt(a_part + b_part), freedom);
}

double common_variance(const Stretch& a, const Stretch& b) {
    return (a.variance * (a.count - 1) + b.variance * (b.count - 1)) / (a.count + b.count - 2);
}

double common_p(const Stretch& a, const Stretch& b, double clumping) {
    const double freedom = a.count + b.count - 2;
    const double error =
        std::sqrt(clumping * common_variance(a, b) * (1 / a.weight + 1 / b.weight));
    return two_sided_p((a.level - b.level) / error, freedom / clumping);
}

// How many times the variance of a mean is what independent units would have, because neighbouring
// units are alike. From the variogram, which changes of level hardly influence.
double clumping_of(const KnownUnits& known) {
    constexpr std::size_t longest_lag = 6;
    constexpr double most = 10;
    if (known.units.size() < 4 * longest_lag) return 1;
    const StretchSums sums(known);
    const double share = sums.share(0, known.units.size());
    std::vector<double> values;
    for (const LevelUnit& unit : known.units)
        values.push_back(known.kind == LevelKind::Value
                             ? unit.sum
                             : (unit.sum - unit.weight * share) /
                                   std::sqrt(std::max(unit.weight * share, 1e-12)));
    const double whole = mean_square_of_differences(values, longest_lag);
    if (whole <= 0) return 1;
    double clumping = 1;
    for (std::size_t lag = 1; lag < longest_lag; ++lag)
        clumping += 2 * (1 - mean_square_of_differences(values, lag) / whole);
    return std::clamp(clumping, 1.0, most);
}

double p_of_group(std::span<const LevelUnit> others, std::size_t from, const LevelUnit& group) {
    const KnownUnits known = known_of(others, LevelKind::Count);
    const auto first = std::lower_bound(known.places.begin(), known.places.end(), from);
    const auto begin = static_cast<std::size_t>(first - known.places.begin());
    if (known.units.size() < begin + min_side || group.weight <= 0) return 1;
    const StretchSums sums(known);
    const Stretch all = sums.stretch(0, known.units.size()),
                  compared = sums.stretch(begin, known.units.size());
    const double clumping = clumping_of(known);
    const double level = 2 * std::sqrt((std::max(group.sum, 0.0) + count_offset) / group.weight);
    const double error = std::sqrt(clumping * std::max(all.variance, compared.variance) *
                                   (1 / compared.weight + 1 / group.weight));
    return two_sided_p((level - compared.level) / error, (all.count - 1) / clumping);
}

}  // namespace lagtrap::server::reports
