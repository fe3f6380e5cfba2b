// An event over time, and against the time before: what the overview and the page of the event say of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/api/routes.hpp"
#include "server/reports/worsening.hpp"
#include "server/store/activity.hpp"

namespace lagtrap::server {

// Whole units of UTC: a stretch of time, and one as long before it.
struct TrendSpan {
    ActivityUnit unit = ActivityUnit::Hour;
    std::uint64_t unit_ns = 0;
    std::uint64_t before_ns = 0, from_ns = 0, to_ns = 0;

    [[nodiscard]] std::size_t units() const { return static_cast<std::size_t>((to_ns - from_ns) / unit_ns); }
};

// From the filter's times, rounded up to hours, or to days where they are more than four days; the last 24 hours if it
// names none. A refusal for more than 400 days.
[[nodiscard]] std::variant<TrendSpan, Refusal> trend_span(const Filter& filter, std::uint64_t now_ns);

struct TrendUnit {
    std::uint64_t from_ns = 0;
    std::uint64_t runs = 0, delays = 0;
    std::uint64_t p50_ns = 0, p90_ns = 0, p99_ns = 0;
};

// A figure of the time before and of now.
struct Measure {
    double before = 0, now = 0;
    std::optional<double> p_value;  // nothing: too few units to tell
    std::optional<double> q_value;  // the same among all events that are looked at together
};

enum class Verdict { Worse, Unchanged, Better, Untested };
[[nodiscard]] std::string_view verdict_name(Verdict verdict);

struct Since {
    std::string measure;  // "p50", "p99"
    reports::LevelChange change;
    std::string build;  // that has most runs after the change, and had few before; may be empty
};

struct EventTrend {
    std::string event;
    bool runs_recorded = false;
    std::uint64_t last_ns = 0;
    std::uint64_t runs = 0, delays = 0;  // now
    std::uint64_t hosts = 0, delayed_hosts = 0;
    std::uint64_t builds = 0, delayed_builds = 0;  // now
    std::vector<TrendUnit> units;                  // before and now, without gaps
    Measure p50, p99;                              // nanoseconds
    Measure delay_share;                           // of runs; delays a unit where no runs are recorded
    std::vector<Since> changes;                    // changes of level, oldest first
    Verdict verdict = Verdict::Untested;
    double factor = 1;  // of what changed most, as far as it is certain
};

[[nodiscard]] EventTrend trend_of(const EventActivity& activity, const TrendSpan& span);
// Sets q-values, verdict and factor of all events that are looked at together.
void judge_trends(std::vector<EventTrend>& trends);

}  // namespace lagtrap::server
