#include "cli/watch/watch_text.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/add/add_offers.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "core/duration.hpp"

namespace lagtrap::cli {
namespace {

std::vector<HistogramBucket> summed(const std::vector<HistogramBucket>& one,
                                    const std::vector<HistogramBucket>& other) {
    std::map<std::uint64_t, HistogramBucket> buckets;
    for (const auto* histogram : {&one, &other})
        for (const HistogramBucket& bucket : *histogram) {
            HistogramBucket& sum = buckets[bucket.from_ns];
            sum = {bucket.from_ns, bucket.to_ns, sum.count + bucket.count};
        }
    std::vector<HistogramBucket> list;
    for (const auto& [from_ns, bucket] : buckets) list.push_back(bucket);
    return list;
}

constexpr std::size_t lines_of_distribution = 10;
constexpr std::size_t bar_width = 40;

double rate_of(const Watched& watched, std::chrono::nanoseconds time) {
    return static_cast<double>(watched.runs) /
           std::max(0.001, std::chrono::duration<double>(time).count());
}

std::string cost_text(const Watched& watched) {
    return fmt::format("{:.1f} % of a CPU", static_cast<double>(watched.used_ppm) / 1e4);
}

// The last of 0, 1, 2, 5, 10, ... us, or of their powers of ten only, that is not after the time.
std::uint64_t begin_of_row(std::uint64_t time_ns, const std::vector<std::uint64_t>& steps) {
    std::uint64_t from_ns = 0;
    for (std::uint64_t decade_ns = 1000; decade_ns <= time_ns; decade_ns *= 10)
        for (const std::uint64_t step : steps)
            if (decade_ns * step <= time_ns) from_ns = decade_ns * step;
    return from_ns;
}

using Rows = std::map<std::uint64_t, std::uint64_t>;  // runs by the shortest time of the row

Rows rows_of(const std::vector<HistogramBucket>& histogram,
             const std::vector<std::uint64_t>& steps) {
    Rows rows;
    for (const HistogramBucket& bucket : histogram)
        if (bucket.count > 0) rows[begin_of_row(bucket.from_ns, steps)] += bucket.count;
    return rows;
}

}  // namespace

Watched watched_in(const boost::json::object& status) {
    Watched watched;
    std::vector<HistogramBucket> histogram;
    watched.used_ppm = number(part(status, "budget"), "used_ppm");
    bool armed = false;
    for (const auto& value : list(status, "events")) {
        if (!value.is_object()) continue;
        const boost::json::object& event = value.as_object();
        armed |= truth(event, "armed");
        if (watched.problem.empty()) watched.problem = text(event, "problem");
        watched.runs += number(event, "runs");
        watched.delays += number(event, "delays");
        watched.open += number(event, "open");
        watched.max_ns = std::max(watched.max_ns, number(event, "max_ns"));
        histogram = summed(histogram, histogram_of(event));
    }
    if (armed) watched.problem.clear();
    watched.p50_ns = std::min(percentile_ns(histogram, 0.5), watched.max_ns);
    watched.p99_ns = std::min(percentile_ns(histogram, 0.99), watched.max_ns);
    watched.histogram = std::move(histogram);
    return watched;
}

std::string runs_text(const Watched& watched, std::chrono::nanoseconds time) {
    if (watched.runs == 0)
        return watched.open > 0 ? "no run has ended yet, " + with_commas(watched.open) + " open"
                                : "no run yet";
    const double rate = rate_of(watched, time);
    return fmt::format("{}, {:.{}f} per second; half within {}, 99 % within {}, longest {}",
                       counted(watched.runs, "run", "runs"), rate, rate < 10 ? 1 : 0,
                       duration(watched.p50_ns), duration(watched.p99_ns),
                       duration(watched.max_ns));
}

std::string progress_text(const Watched& watched, std::chrono::nanoseconds time) {
    if (watched.runs == 0) return runs_text(watched, time) + "; costs " + cost_text(watched);
    return fmt::format("{}, {:.1f}/s: p50 {}, p99 {}, longest {}; costs {}",
                       counted(watched.runs, "run", "runs"), rate_of(watched, time),
                       duration(watched.p50_ns), duration(watched.p99_ns), duration(watched.max_ns),
                       cost_text(watched));
}

std::string distribution_text(const Watched& watched) {
    Rows rows = rows_of(watched.histogram, {1, 2, 5});
    if (rows.size() > lines_of_distribution) rows = rows_of(watched.histogram, {1});
    std::uint64_t most = 0;
    for (const auto& [from_ns, runs] : rows) most = std::max(most, runs);
    std::string text;
    for (const auto& [from_ns, runs] : rows)
        text += "  from " + pad_left(duration(from_ns), 8) + pad_left(with_commas(runs), 12) +
                "  " + bar(static_cast<double>(runs) / static_cast<double>(most), bar_width) + "\n";
    return text;
}

std::optional<std::string> threshold_from(const Watched& watched) {
    if (watched.runs == 0) return std::nullopt;
    Measured measured;
    measured.p99_ns = watched.p99_ns;
    measured.max_ns = watched.max_ns;
    return threshold_for(measured);
}

std::string summary_text(const Watched& watched, std::chrono::nanoseconds time,
                         std::uint64_t shown) {
    std::string text =
        fmt::format("Watched for {}: {}. {} too slow",
                    format_duration(std::chrono::ceil<std::chrono::milliseconds>(time)),
                    runs_text(watched, time), counted(watched.delays, "run was", "runs were"));
    if (watched.delays > shown) text += fmt::format(", {} shown", with_commas(shown));
    return text + ".";
}

}  // namespace lagtrap::cli
