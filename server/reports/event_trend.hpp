// Trends: an event's figures over time and against the period before, for the overview and the
// event's page. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "server/reports/worsening.hpp"
#include "server/store/activity.hpp"

namespace lagtrap::server::reports {

// A period in whole units of UTC, and the period of the same length before it.
struct TrendSpan {
    ActivityUnit unit = ActivityUnit::Hour;
    std::uint64_t unit_ns = 0;
    std::uint64_t before_ns = 0, from_ns = 0, to_ns = 0;
    // Changes of level are also searched by hours of this time, whatever the unit: the fifteen days
    // up to the end of the period, or the hour that it is now.
    std::uint64_t hours_from_ns = 0, hours_to_ns = 0;
    std::uint64_t now_ns = 0;  // the end of the data: the period may end later

    [[nodiscard]] std::size_t units() const {
        return static_cast<std::size_t>((to_ns - from_ns) / unit_ns);
    }
};

// From the filter's times, rounded up to hours, or to days for more than four days. The last 24
// hours if the filter has no times. ErrorKind::Invalid for times in the wrong order and for more
// than 400 days.
[[nodiscard]] Result<TrendSpan> trend_span(const Filter& filter, std::uint64_t now_ns);

// What trend_of() needs of the events that `filter` selects; its times are ignored.
[[nodiscard]] ActivityQuestion activity_question(Filter filter, const TrendSpan& span);

struct TrendUnit {
    std::uint64_t from_ns = 0;
    std::uint64_t runs = 0, delays = 0;
    std::uint64_t p50_ns = 0, p90_ns = 0, p99_ns = 0;
};

// A figure in the period before and in the current one.
struct Measure {
    double before = 0, now = 0;
    std::optional<double> p_value;  // nullopt: too few units for a test
    std::optional<double> q_value;  // corrected for all events judged together
};

enum class Verdict { Worse, Unchanged, Better, Untested };
[[nodiscard]] std::string_view verdict_name(Verdict verdict);

[[nodiscard]] std::string_view figure_name(Figure figure);  // "p50", "p99" or "delays"

struct EventTrend {
    std::string event;
    bool runs_recorded = false;
    std::uint64_t last_ns = 0;
    std::uint64_t runs = 0, delays = 0;  // in the current period
    std::uint64_t hosts = 0, delayed_hosts = 0;
    std::uint64_t builds = 0, delayed_builds = 0;  // in the current period
    std::vector<TrendUnit> units;                  // both periods, without gaps
    Measure p50, p99;                              // nanoseconds
    // of runs; delays per unit if runs are not recorded
    Measure delay_share;
    // changes of level in either period, oldest first
    std::vector<LastingChange> changes;
    // The change that lasts, even if it is older than both periods; it decides the verdict.
    std::optional<LastingChange> lasting;
    bool searched = false;        // there are enough hours to find changes of level
    bool covers_periods = false;  // these hours include both periods
    Verdict verdict = Verdict::Untested;
    // of the lasting or largest significant change; nullopt: from 0
    std::optional<double> factor = 1;
};

[[nodiscard]] EventTrend trend_of(const EventActivity& activity, const TrendSpan& span);
// Sets q-values, verdict and factor of all events that are judged together.
void judge_trends(std::vector<EventTrend>& trends);

}  // namespace lagtrap::server::reports
