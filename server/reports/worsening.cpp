#include "server/reports/worsening.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "server/reports/change_points.hpp"
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

constexpr double min_duration_change = 0.1;
constexpr double min_delay_change = 0.25;
constexpr double delays_needed = 5;
constexpr double ratio_offset = 3.0 / 8;  // keeps ratios of counts finite

LevelUnit level_unit(const HistoryUnit& unit, Figure figure) {
    if (figure == Figure::Delays) return {unit.delays, unit.runs};
    const double value_ns = figure == Figure::P50 ? unit.p50_ns : unit.p99_ns;
    return value_ns > 0 ? LevelUnit{std::log(value_ns), 1} : LevelUnit{};
}

ChangeOptions options_of(const History& history, Figure figure) {
    ChangeOptions options;
    options.kind = figure == Figure::Delays ? LevelKind::Count : LevelKind::Value;
    options.min_change = figure == Figure::Delays ? min_delay_change : min_duration_change;
    if (history.unit_ns == hour_length_ns) {
        options.cycles = {24, 168};
    } else {
        options.cycles = {7};
    }
    return options;
}

// Whether the delays of a build differ from those of the others in the same hours, and not only by
// chance.
bool differs_from_others(const History& history, const BuildBegin& begin) {
    constexpr double highest_p = 5e-4;  // when the build began is not searched
    LevelUnit own;
    std::size_t first = 0;
    std::vector<LevelUnit> others;
    for (const HistoryUnit& unit : history.units) {
        if (unit.from_ns + history.unit_ns <= begin.first_ns) ++first;
        LevelUnit& rest = others.emplace_back(LevelUnit{unit.delays, unit.runs});
        for (const BuildRuns& build : unit.builds) {
            if (build.build != begin.build) continue;
            own.sum += build.delays;
            own.weight += build.runs;
            rest.sum -= build.delays;
            rest.weight -= build.runs;
        }
    }
    return p_of_group(others, first, own) <= highest_p;
}

// The units that begin nearest to the first runs of builds. That its delays differ from those of
// others confirms a change; whether all delays changed shows that it is not a matter of where the
// build runs.
std::vector<LikelyPlace> likely_places(const History& history, std::span<const BuildBegin> begins,
                                       Figure figure) {
    std::vector<LikelyPlace> places;
    for (const BuildBegin& begin : begins) {
        if (history.units.empty() || begin.first_ns < history.units.front().from_ns) continue;
        const std::uint64_t after_ns = begin.first_ns - history.units.front().from_ns;
        places.push_back(
            {static_cast<std::size_t>((after_ns + history.unit_ns / 2) / history.unit_ns),
             figure == Figure::Delays && history.runs_recorded &&
                 differs_from_others(history, begin)});
    }
    return places;
}

// A figure over part of a history.
struct Level {
    double value = 0;
    double delays = 0, runs = 0;  // only of Figure::Delays
    bool known = false;
};

Level level_between(const History& history, Figure figure, std::uint64_t from_ns,
                    std::uint64_t to_ns) {
    LevelUnit whole;
    for (const HistoryUnit& unit : history.units) {
        if (unit.from_ns < from_ns || unit.from_ns >= to_ns) continue;
        const LevelUnit one = level_unit(unit, figure);
        whole.sum += one.sum;
        whole.weight += one.weight;
    }
    if (whole.weight <= 0) return {};
    if (figure == Figure::Delays) return {whole.sum / whole.weight, whole.sum, whole.weight, true};
    return {std::exp(whole.sum / whole.weight), 0, 0, true};
}

// The logarithm of b / a; finite for delays, too.
double log_ratio(const Level& a, const Level& b, Figure figure) {
    if (figure != Figure::Delays) return std::log(b.value / a.value);
    return std::log((b.delays + ratio_offset) / b.runs * a.runs / (a.delays + ratio_offset));
}

// Whether the level at the end is away from `before` by more than half of `size`, a logarithm.
bool still_there(const Level& before, const Level& end, Figure figure, double size) {
    if (!before.known || !end.known) return false;
    return log_ratio(before, end, figure) * (size < 0 ? -1 : 1) > std::abs(size) / 2;
}

// The latest of a figure's steps, oldest first, that has not been undone.
std::optional<Step> lasting_step(const History& history, const std::vector<Step>& steps) {
    for (std::size_t i = steps.size(); i-- > 0;) {
        const Step& step = steps[i];
        const Figure figure = step.figure;
        const std::uint64_t earlier_ns = i == 0 ? 0 : steps[i - 1].from_ns;
        const Level before = level_between(history, figure, earlier_ns, step.from_ns);
        // A short exception that has ended is no change.
        const bool exception = i > 0 && step.from_ns - earlier_ns < 3 * day_length_ns;
        const Level usual = exception ? level_between(history, figure, 0, earlier_ns) : before;
        const Level after = level_between(history, figure, step.from_ns, UINT64_MAX);
        const Level end = level_between(history, figure, steps.back().from_ns, UINT64_MAX);
        if (!before.known || !after.known) continue;
        const double size = figure == Figure::Delays && (step.before <= 0 || step.after <= 0)
                                ? log_ratio(before, after, figure)
                                : std::log(step.after / step.before);
        if (!still_there(before, end, figure, size) || !still_there(usual, end, figure, size))
            continue;
        if (figure == Figure::Delays && std::max(before.delays, after.delays) < delays_needed)
            continue;
        Step lasting = step;
        if (i + 1 < steps.size()) lasting.after = after.value;
        return lasting;
    }
    return std::nullopt;
}

// Whether `a` says more: for the worse, then by the larger factor.
bool says_more(const Step& a, const Step& b) {
    const bool a_worse = a.after > a.before, b_worse = b.after > b.before;
    if (a_worse != b_worse) return a_worse;
    const auto factor = [](const Step& step) {
        const double low = std::min(step.before, step.after),
                     high = std::max(step.before, step.after);
        return low > 0 ? high / low : HUGE_VAL;
    };
    return factor(a) > factor(b);
}

// How far from a change its build may have begun: the place of a change in noise is uncertain.
std::uint64_t reach_ns(const History& history) {
    return history.unit_ns == hour_length_ns ? 12 * hour_length_ns : history.unit_ns;
}

struct BuildChange {
    BuildRuns before, after;
};

// Runs by build before and after a change. A new build may have begun in the last units before it,
// so these count for neither.
std::map<std::string, BuildChange> builds_around(const History& history, std::uint64_t from_ns) {
    std::map<std::string, BuildChange> builds;
    for (const HistoryUnit& unit : history.units) {
        const bool after = unit.from_ns >= from_ns;
        if (!after && unit.from_ns + reach_ns(history) >= from_ns) continue;
        for (const BuildRuns& build : unit.builds) {
            BuildChange& change = builds[build.build];
            BuildRuns& side = after ? change.after : change.before;
            side.runs += build.runs;
            side.delays += build.delays;
        }
    }
    return builds;
}

// The only build whose first run is in the first unit after the step or in one beside it.
std::string only_begun_with(const History& history, const Step& step,
                            std::span<const BuildBegin> begins) {
    std::string found;
    for (const BuildBegin& begin : begins) {
        if (begin.first_ns + history.unit_ns < step.from_ns ||
            begin.first_ns >= step.from_ns + 2 * history.unit_ns)
            continue;
        if (!found.empty()) return {};
        found = begin.build;
    }
    return found;
}

// Whether the change can have happened when the build began instead: always within two units;
// further away if the delays between both times do not speak against it.
bool may_have_begun(const History& history, const Step& step, std::uint64_t first_ns) {
    const std::uint64_t low_ns = std::min(first_ns, step.from_ns),
                        high_ns = std::max(first_ns, step.from_ns);
    if (high_ns - low_ns > reach_ns(history)) return false;
    if (history.unit_ns != hour_length_ns || high_ns - low_ns <= 2 * hour_length_ns) return true;
    if (step.figure != Figure::Delays) return high_ns - low_ns <= reach_ns(history) / 2;
    constexpr double strong = 8;  // of a log-likelihood ratio; hours vary by more than counting
    const Level between = level_between(history, step.figure, low_ns, high_ns);
    const double before = std::max(step.before, 1e-9), after = std::max(step.after, 1e-9);
    const double for_after =
        between.delays * std::log(after / before) - between.runs * (after - before);
    return first_ns < step.from_ns ? for_after > -strong : for_after < strong;
}

}  // namespace

std::optional<double> share_test(std::span<const UnitShare> before,
                                 std::span<const UnitShare> now) {
    std::vector<Ranked> units;
    add_units(before, false, units);
    const std::size_t before_count = units.size();
    add_units(now, true, units);
    const std::size_t now_count = units.size() - before_count;
    if (before_count < min_units || now_count < min_units) return std::nullopt;
    std::sort(units.begin(), units.end(),
              [](const Ranked& a, const Ranked& b) { return a.share < b.share; });
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

std::vector<Step> find_steps(const History& history, std::span<const BuildBegin> begins) {
    std::vector<Step> steps;
    for (const Figure figure : {Figure::P50, Figure::P99, Figure::Delays}) {
        std::vector<LevelUnit> units;
        units.reserve(history.units.size());
        for (const HistoryUnit& unit : history.units) units.push_back(level_unit(unit, figure));
        ChangeOptions options = options_of(history, figure);
        options.likely = likely_places(history, begins, figure);
        for (const ChangePoint& change : find_change_points(units, options)) {
            const bool logs = figure != Figure::Delays;
            const Step step{figure, history.units[change.place].from_ns,
                            logs ? std::exp(change.before) : change.before,
                            logs ? std::exp(change.after) : change.after, change.p_value};
            if (step.p_value > options.highest_p && build_of_step(history, step, begins).empty())
                continue;
            steps.push_back(step);
        }
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.from_ns < b.from_ns; });
    return steps;
}

std::string build_of_step(const History& history, const Step& step,
                          std::span<const BuildBegin> begins) {
    constexpr double few = 0.1;   // of its runs after the change
    constexpr double most = 0.6;  // of the delays beyond the usual
    const auto builds = builds_around(history, step.from_ns);
    BuildRuns before, after;
    for (const auto& [name, change] : builds) {
        before.runs += change.before.runs;
        before.delays += change.before.delays;
        after.runs += change.after.runs;
        after.delays += change.after.delays;
    }
    if (before.runs <= 0 || after.runs <= 0) return {};
    const double usual = history.runs_recorded ? before.delays / before.runs : 0;
    const auto beyond = [&](const BuildRuns& runs) { return runs.delays - runs.runs * usual; };
    const double all_beyond = beyond(after);
    const bool by_delays =
        history.runs_recorded && std::abs(all_beyond) >= delays_needed &&
        std::abs(all_beyond) >= min_delay_change * std::max(after.runs * usual, 1.0);
    const std::string begun = by_delays ? std::string() : only_begun_with(history, step, begins);
    std::string found;
    double largest = 0;
    for (const auto& [name, change] : builds) {
        const double part_before = change.before.runs / before.runs,
                     part = change.after.runs / after.runs;
        if (name.empty() || part_before > few * part) continue;
        const double runs_needed = name == begun ? 0.1 : 0.5;
        const bool fits =
            by_delays ? beyond(change.after) / all_beyond >= most : part >= runs_needed;
        if (!fits || part <= largest) continue;
        largest = part;
        found = name;
    }
    return found;
}

std::optional<LastingChange> lasting_change(const History& history, std::span<const Step> steps,
                                            std::span<const BuildBegin> begins) {
    std::vector<Step> lasting;
    for (const Figure figure : {Figure::P50, Figure::P99, Figure::Delays}) {
        std::vector<Step> of_figure;
        std::copy_if(steps.begin(), steps.end(), std::back_inserter(of_figure),
                     [&](const Step& step) { return step.figure == figure; });
        if (auto step = lasting_step(history, of_figure)) lasting.push_back(*step);
    }
    if (lasting.empty()) return std::nullopt;
    const auto first = std::min_element(lasting.begin(), lasting.end(), says_more);
    LastingChange change{*first, build_of_step(history, *first, begins), false};
    for (const BuildBegin& begin : begins) {
        if (begin.build != change.build || change.build.empty()) continue;
        if (!may_have_begun(history, change.step, begin.first_ns)) continue;
        change.step.from_ns = begin.first_ns;
        change.from_first_run = true;
    }
    return change;
}

std::vector<double> false_discovery_shares(const std::vector<double>& p_values) {
    return q_values(p_values, p_values.size());
}

}  // namespace lagtrap::server::reports
