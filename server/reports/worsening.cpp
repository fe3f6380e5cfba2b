#include "server/reports/worsening.hpp"

#include <algorithm>
#include <cmath>

#include "server/reports/change_points.hpp"
#include "server/reports/quantiles.hpp"
#include "server/reports/rank_test.hpp"

namespace lagtrap::server::reports {
namespace {

struct Ranked {
    double share = 0;
    bool now = false;
};

void add_units(std::span<const UnitShare> units, bool now, std::vector<Ranked>& into) {
    for (const UnitShare& unit : units)
        if (unit.of > 0) into.push_back({unit.above / unit.of, now});
}

// The units from `begin` to before `end`, compared with those one cycle earlier, as a logarithm;
// nullopt if there are none to compare.
std::optional<double> beyond_cycle(std::span<const SeriesUnit> series, std::size_t begin, std::size_t end,
                                   std::size_t cycle) {
    std::vector<double> differences;
    for (std::size_t i = std::max(begin, cycle); i < end; ++i)
        if (series[i].value > 0 && series[i - cycle].value > 0)
            differences.push_back(std::log(series[i].value / series[i - cycle].value));
    return differences.empty() ? std::nullopt : std::optional(median(std::move(differences)));
}

}  // namespace

std::optional<double> share_test(std::span<const UnitShare> before, std::span<const UnitShare> now) {
    std::vector<Ranked> units;
    add_units(before, false, units);
    const std::size_t before_count = units.size();
    add_units(now, true, units);
    const std::size_t now_count = units.size() - before_count;
    if (before_count < least_units || now_count < least_units) return std::nullopt;
    std::sort(units.begin(), units.end(), [](const Ranked& a, const Ranked& b) { return a.share < b.share; });
    double ranks_of_now = 0, ties = 0;
    for (std::size_t begin = 0; begin < units.size();) {
        std::size_t end = begin;
        while (end < units.size() && units[end].share == units[begin].share) ++end;
        const double rank = (static_cast<double>(begin + end) + 1) / 2;
        const auto alike = static_cast<double>(end - begin);
        ties += alike * alike * alike - alike;
        for (; begin < end; ++begin)
            if (units[begin].now) ranks_of_now += rank;
    }
    const auto n = static_cast<double>(before_count), m = static_cast<double>(now_count);
    const double all = n + m;
    const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    if (variance <= 0) return 1;
    constexpr double continuity = 0.5;
    const double away = std::max(std::abs(ranks_of_now - m * (all + 1) / 2) - continuity, 0.0);
    return std::erfc(away / std::sqrt(2 * variance));
}

std::vector<LevelChange> level_changes(std::span<const SeriesUnit> series, std::size_t cycle) {
    std::vector<std::size_t> places;
    std::vector<BuildMedian> known;
    for (std::size_t i = 0; i < series.size(); ++i) {
        if (series[i].value <= 0) continue;
        places.push_back(i);
        known.push_back({{}, static_cast<std::uint64_t>(std::llround(std::max(series[i].value, 1.0))), 1});
    }
    const std::vector<ChangePoint> found = find_change_points(known);
    std::vector<LevelChange> changes;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t begin = places[found[i].place];
        const std::size_t end = i + 1 < found.size() ? places[found[i + 1].place] : series.size();
        const double size = std::log1p(found[i].change);
        const auto beyond = cycle == 0 ? std::nullopt : beyond_cycle(series, begin, end, cycle);
        if (beyond && *beyond * (size < 0 ? -1 : 1) < std::abs(size) / 2) continue;
        changes.push_back({series[begin].from_ns, static_cast<double>(found[i].before_ns),
                           static_cast<double>(found[i].after_ns), found[i].p_value});
    }
    return changes;
}

std::vector<double> false_discovery_shares(const std::vector<double>& p_values) {
    return q_values(p_values, p_values.size());
}

}  // namespace lagtrap::server::reports
