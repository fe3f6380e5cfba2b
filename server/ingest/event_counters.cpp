#include "server/ingest/event_counters.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.hpp"

namespace lagtrap::server {
namespace {

constexpr const char* further_units = "other";

// The counts under "other" cannot be attributed, so only people who see the whole event see them.
bool is_seen(const Sight& sight, const std::string& event, const std::string& unit) {
    if (event.empty()) return false;
    return sight.sees_event(event) || (unit != further_units && sight.sees_unit(unit));
}

}  // namespace

std::uint64_t EventCounters::bound_ns(std::size_t bucket) {
    constexpr std::array<std::uint64_t, 3> steps_ns{100'000, 250'000, 500'000};
    std::uint64_t bound = steps_ns.at(bucket % steps_ns.size());
    for (std::size_t power = 0; power < bucket / steps_ns.size(); ++power) bound *= 10;
    return bound;
}

EventCounters::Counts& EventCounters::counts_of(const std::string& event, const std::string& unit) {
    auto place = events_.find(event);
    if (place == events_.end())
        place = events_.try_emplace(events_.size() < counted_events_limit ? event : std::string())
                    .first;
    auto& units = place->second;
    if (const auto known = units.find(unit); known != units.end()) return known->second;
    const bool counts_with_others =
        units.size() >= counted_units_limit || pairs_ >= counted_pairs_limit;
    if (counts_with_others) return units[further_units];
    ++pairs_;
    return units[unit];
}

template <typename Visit>
void EventCounters::for_each(const Sight* sight, const Visit& visit) const {
    for (const auto& [event, units] : events_)
        for (const auto& [unit, counts] : units) {
            if (sight != nullptr && !is_seen(*sight, event, unit)) continue;
            visit(fmt::format("event=\"{}\",unit=\"{}\"", label_value(event), label_value(unit)),
                  counts);
        }
}

void EventCounters::add(const trace::RunBatch& batch) {
    const std::lock_guard lock(mutex_);
    for (const trace::RecordedRun& run : batch.runs) {
        if (run.dirty_reasons != 0) continue;
        Counts& counts = counts_of(run.event, run.unit);
        std::size_t bucket = 0;
        while (bucket < bucket_count && run.duration_ns > bound_ns(bucket)) ++bucket;
        const std::uint64_t weight = std::max<std::uint64_t>(run.weight, 1);
        counts.buckets.at(bucket) += weight;
        counts.runs += weight;
        counts.delays += run.delay ? weight : 0;
        counts.sum_s += static_cast<double>(run.duration_ns) / 1e9 * static_cast<double>(weight);
    }
}

std::string EventCounters::text(const Sight* sight) const {
    const std::lock_guard lock(mutex_);
    std::string text =
        "# HELP lagtrap_event_duration_seconds Durations of runs that came in, by event and unit "
        "or container.\n"
        "# TYPE lagtrap_event_duration_seconds histogram\n";
    for_each(sight, [&text](const std::string& labels, const Counts& counts) {
        auto out = std::back_inserter(text);
        std::uint64_t below = 0;
        for (std::size_t bucket = 0; bucket < bucket_count; ++bucket) {
            below += counts.buckets.at(bucket);
            fmt::format_to(out, "lagtrap_event_duration_seconds_bucket{{{},le=\"{}\"}} {}\n",
                           labels, static_cast<double>(bound_ns(bucket)) / 1e9, below);
        }
        fmt::format_to(out, "lagtrap_event_duration_seconds_bucket{{{},le=\"+Inf\"}} {}\n", labels,
                       counts.runs);
        fmt::format_to(out, "lagtrap_event_duration_seconds_sum{{{}}} {}\n", labels, counts.sum_s);
        fmt::format_to(out, "lagtrap_event_duration_seconds_count{{{}}} {}\n", labels, counts.runs);
    });
    text +=
        "# HELP lagtrap_event_delays_total Runs over their threshold that came in, by event and "
        "unit or container.\n"
        "# TYPE lagtrap_event_delays_total counter\n";
    for_each(sight, [&text](const std::string& labels, const Counts& counts) {
        text += fmt::format("lagtrap_event_delays_total{{{}}} {}\n", labels, counts.delays);
    });
    return text;
}

std::string label_value(std::string_view text) {
    std::string value;
    for (const char letter : printable(text)) {
        if (letter == '\\' || letter == '"') value += '\\';
        value += letter;
    }
    return value;
}

}  // namespace lagtrap::server
