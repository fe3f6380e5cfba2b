#include "server/reports/change_causes.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <boost/math/distributions/binomial.hpp>

namespace lagtrap::server::reports {
namespace {

constexpr double highest_cause_q = 0.01;
constexpr double min_cause_factor = 2;
constexpr double min_part = 0.1;

// How many runs the recorded delays of a time stand for.
double runs_recorded(const DelayCounts& counts) {
    return counts.delays > 0 ? counts.runs * counts.recorded / counts.delays : 0;
}

// How likely at least this many of a cause's delays are after the change if its rate is the same.
// The conditional test of two Poisson counts.
double p_of_more(const CauseCounts& cause, double before_runs, double after_runs) {
    const double all = cause.before + cause.after;
    if (all <= 0 || cause.after <= 0) return 1;
    const double share = after_runs / (before_runs + after_runs);
    return boost::math::cdf(
        boost::math::complement(boost::math::binomial(all, share), std::max(cause.after - 1, 0.0)));
}

}  // namespace

std::vector<CauseShift> cause_shifts(const DelayCounts& before, const DelayCounts& after,
                                     std::span<const CauseCounts> causes, Figure changed) {
    const double before_runs = runs_recorded(before), after_runs = runs_recorded(after);
    const bool known = before.runs > 0 && after_runs > 0;
    // Without delays before the change, none of them had any cause.
    const double compared_runs = before.delays > 0 ? before_runs : before.runs;
    std::vector<CauseShift> shifts;
    std::vector<double> p_values;
    const double usual = known && changed == Figure::Delays ? before.delays / before.runs : 0;
    const double more = known ? after.delays / after.runs - usual : 0;
    for (const CauseCounts& cause : causes) {
        CauseShift shift;
        shift.cause = cause.cause;
        if (known && compared_runs > 0) {
            shift.before = cause.before / compared_runs;
            shift.after = cause.after / after_runs;
            shift.p_value = p_of_more(cause, compared_runs, after_runs);
            if (more > 0) shift.part = std::clamp((shift.after - shift.before) / more, 0.0, 1.0);
        }
        p_values.push_back(shift.p_value);
        shifts.push_back(shift);
    }
    const std::vector<double> q_values = false_discovery_shares(p_values);
    for (std::size_t i = 0; i < shifts.size(); ++i) {
        CauseShift& shift = shifts[i];
        shift.came = q_values[i] <= highest_cause_q && shift.part >= min_part &&
                     shift.after >= min_cause_factor * shift.before;
    }
    std::stable_sort(shifts.begin(), shifts.end(), [](const CauseShift& a, const CauseShift& b) {
        return std::tuple(a.came, a.came ? a.part : a.after) >
               std::tuple(b.came, b.came ? b.part : b.after);
    });
    return shifts;
}

}  // namespace lagtrap::server::reports
