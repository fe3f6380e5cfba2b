#include "cli/watch/watch_text.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/status/status_events.hpp"
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

}  // namespace

Watched watched_in(const boost::json::object& status) {
    Watched watched;
    std::vector<HistogramBucket> histogram;
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
    return watched;
}

std::string runs_text(const Watched& watched, std::chrono::nanoseconds time) {
    if (watched.runs == 0)
        return watched.open > 0 ? "no run has ended yet, " + with_commas(watched.open) + " open"
                                : "no run yet";
    const double seconds = std::max(0.001, std::chrono::duration<double>(time).count());
    const double rate = static_cast<double>(watched.runs) / seconds;
    return fmt::format("{}, {:.{}f} per second; half within {}, 99 % within {}, longest {}",
                       counted(watched.runs, "run", "runs"), rate, rate < 10 ? 1 : 0,
                       duration(watched.p50_ns), duration(watched.p99_ns),
                       duration(watched.max_ns));
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
