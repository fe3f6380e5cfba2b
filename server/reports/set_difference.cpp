#include "server/reports/set_difference.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace lagtrap::server::reports {
namespace {

constexpr double two_sided_95 = 1.959964;
constexpr double records_beside = 5;
// Relative accuracy of sketches.
constexpr double sketch_error = 0.01;

// Bounds of a difference from the bounds of both sides, which need not be symmetric (Zou and
// Donner, 2008).
Bounds bounds_of_difference(double a, const Bounds& of_a, double b, const Bounds& of_b) {
    const double difference = b - a;
    return {difference - std::hypot(b - of_b.low, of_a.high - a),
            difference + std::hypot(of_b.high - b, a - of_a.low)};
}

// By order statistics: the quantiles whose ranks contain the true one in 95 of 100 samples.
std::optional<Bounds> quantile_bounds(const Sketch& sketch, std::uint64_t records, double share) {
    const auto count = static_cast<double>(records);
    if (count * std::min(share, 1 - share) < records_beside) return std::nullopt;
    const double reach = two_sided_95 * std::sqrt(share * (1 - share) / count);
    const auto at = [&](double rank) {
        return static_cast<double>(sketch.quantile_ns(std::clamp(rank, 0.0, 1.0)));
    };
    return Bounds{at(share - reach) * (1 - sketch_error), at(share + reach) * (1 + sketch_error)};
}

// Wilson's interval.
Bounds share_bounds(double share, double count) {
    const double square = two_sided_95 * two_sided_95;
    const double middle = (share + square / (2 * count)) / (1 + square / count);
    const double reach = two_sided_95 / (1 + square / count) *
                         std::sqrt(share * (1 - share) / count + square / (4 * count * count));
    return {std::min(middle - reach, share), std::max(middle + reach, share)};
}

struct Moments {
    double sum = 0, squares = 0;
};
using PartName = std::pair<std::string, std::string>;  // state, reason

struct Side {
    std::map<PartName, Moments> parts;
    double weight = 0;
    std::size_t records = 0;

    explicit Side(std::span<const TimedDuration> runs) : records(runs.size()) {
        for (const TimedDuration& run : runs) {
            weight += run.weight;
            each_part(run, [&](const std::string& state, const std::string& reason,
                               std::uint64_t time_ns) {
                Moments& moments = parts[{state, reason}];
                const auto time = static_cast<double>(time_ns);
                moments.sum += run.weight * time;
                moments.squares += run.weight * time * time;
            });
        }
    }
    // The mean and its variance.
    [[nodiscard]] std::pair<double, double> mean(const PartName& name) const {
        const auto found = parts.find(name);
        if (found == parts.end() || weight == 0) return {0, 0};
        const double value = found->second.sum / weight;
        const double variance = std::max(found->second.squares / weight - value * value, 0.0);
        return {value, variance / static_cast<double>(std::max<std::size_t>(records, 1))};
    }
};

}  // namespace

FigureDifference quantile_difference(const Sketch& a, std::uint64_t a_records, const Sketch& b,
                                     std::uint64_t b_records, double share) {
    FigureDifference difference{
        static_cast<double>(a.quantile_ns(share)), static_cast<double>(b.quantile_ns(share)), {}};
    const auto of_a = quantile_bounds(a, a_records, share),
               of_b = quantile_bounds(b, b_records, share);
    if (of_a && of_b)
        difference.bounds = bounds_of_difference(difference.a, *of_a, difference.b, *of_b);
    return difference;
}

FigureDifference share_difference(const Counted& a, const Counted& b) {
    const auto share = [](const Counted& counted) {
        return static_cast<double>(counted.some) /
               static_cast<double>(std::max<std::uint64_t>(counted.runs, 1));
    };
    FigureDifference difference{share(a), share(b), {}};
    const auto a_count = static_cast<double>(a.records), b_count = static_cast<double>(b.records);
    if (a_count >= records_beside && b_count >= records_beside)
        difference.bounds = bounds_of_difference(difference.a, share_bounds(difference.a, a_count),
                                                 difference.b, share_bounds(difference.b, b_count));
    return difference;
}

std::vector<PartDifference> part_differences(std::span<const TimedDuration> a,
                                             std::span<const TimedDuration> b) {
    const Side of_a(a), of_b(b);
    std::map<PartName, Moments> names = of_a.parts;
    names.insert(of_b.parts.begin(), of_b.parts.end());
    const bool enough = of_a.records >= shift_runs_needed && of_b.records >= shift_runs_needed;
    std::vector<PartDifference> differences;
    for (const auto& [name, ignored] : names) {
        const auto [a_mean, a_variance] = of_a.mean(name);
        const auto [b_mean, b_variance] = of_b.mean(name);
        PartDifference part{name.first, name.second, {a_mean, b_mean, {}}};
        const double reach = two_sided_95 * std::sqrt(a_variance + b_variance);
        if (enough) part.mean_ns.bounds = Bounds{b_mean - a_mean - reach, b_mean - a_mean + reach};
        differences.push_back(std::move(part));
    }
    std::stable_sort(differences.begin(), differences.end(),
                     [](const PartDifference& one, const PartDifference& other) {
                         return std::abs(one.mean_ns.b - one.mean_ns.a) >
                                std::abs(other.mean_ns.b - other.mean_ns.a);
                     });
    return differences;
}

}  // namespace lagtrap::server::reports
