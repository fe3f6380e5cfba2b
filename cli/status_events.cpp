#include "cli/status_events.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <boost/json.hpp>

#include "cli/status_fields.hpp"
#include "cli/text_layout.hpp"
#include "core/clock.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {

namespace {

using boost::json::object;

// What went wrong with an event, for the lines below the table.
std::vector<std::string> problems_of(const object& event) {
    std::vector<std::string> problems;
    if (!text(event, "problem").empty()) {
        const bool shed = truth(event, "shed");
        problems.push_back(text(event, "problem") +
                           (shed ? "; tried again in " + seconds_text(event, "again_in_seconds") : ""));
    }
    if (truth(event, "stacks_shed"))
        problems.push_back("stacks at its markers are shed: they cost too much; tried again in " +
                           seconds_text(event, "again_in_seconds"));
    const auto add = [&](const char* key, const char* what) {
        if (const std::uint64_t count = number(event, key); count > 0)
            problems.push_back(with_commas(count) + " " + what);
    };
    for (const auto& finding : list(event, "pairing"))
        if (finding.is_object()) problems.push_back(text(finding.as_object(), "sentence"));
    if (const std::uint64_t overdue = number(event, "open_overdue"); overdue > 0)
        problems.push_back(counted(overdue, "run is", "runs are") +
                           " open beyond the threshold, the oldest open run for " +
                           duration(number(event, "oldest_open_ns")));
    add("unmatched_begins", "begins without end");
    add("unmatched_ends", "ends without begin");
    add("unmatched_stages", "stages without begin");
    add("abandoned", "runs abandoned by their thread or process");
    add("lost", "runs lost: more were open than fit");
    add("expired", "runs given up: their end did not come");
    add("too_deep", "runs nested too deep");
    return problems;
}

std::string event_row(const object& event, const Paint& paint) {
    const auto histogram = histogram_of(event);
    const std::uint64_t runs = number(event, "runs");
    const std::uint64_t delays = number(event, "delays");
    const auto cell = [&](std::uint64_t length_ns) { return pad_left(runs > 0 ? duration(length_ns) : "-", 9); };
    std::string row = "  " + pad_right(text(event, "name"), 16);
    row += pad_left(duration(number(event, "threshold_ns")), 9);
    row += pad_left(with_commas(runs), 14);
    row += paint(delays > 0 ? Colour::Red : Colour::None, pad_left(with_commas(delays), 8));
    row += cell(percentile_ns(histogram, 0.5)) + cell(percentile_ns(histogram, 0.99)) + cell(number(event, "max_ns"));
    if (truth(event, "arming")) return row + paint(Colour::Yellow, " arming") + "\n";
    if (!truth(event, "armed")) row += paint(Colour::Red, truth(event, "shed") ? " shed" : " off");
    return row + "\n";
}

std::string event_table(const object& answer, const Paint& paint) {
    const auto* value = answer.if_contains("events");
    if (value == nullptr || !value->is_array() || value->as_array().empty()) {
        return "  no events: the settings name none\n";
    }
    std::string table =
        paint(Colour::Bold, "  event           threshold          runs  delays      p50      p99      max") + "\n";
    std::string problems;
    for (const auto& entry : value->as_array()) {
        if (!entry.is_object()) continue;
        const object& event = entry.as_object();
        table += event_row(event, paint);
        for (const std::string& problem : problems_of(event)) {
            problems += "  " + paint(Colour::Yellow, text(event, "name")) + ": " + problem + "\n";
        }
    }
    return table + (problems.empty() ? "" : "\n" + problems);
}

// Begin, stages and end of each event: a marker that is not reached looks like a program with nothing to do, but for these.
std::string marker_table(const object& answer, const Paint& paint) {
    std::string rows;
    for (const auto& entry : list(answer, "events")) {
        if (!entry.is_object()) continue;
        std::string name = text(entry.as_object(), "name");
        for (const auto& value : list(entry.as_object(), "markers")) {
            if (!value.is_object()) continue;
            const object& marker = value.as_object();
            const std::string stage = text(marker, "stage");
            const std::uint64_t last_ns = number(marker, "last_realtime_ns");
            rows += "  " + pad_right(name, 16) + pad_right(stage.empty() ? text(marker, "role") : stage, 16) +
                    pad_left(with_commas(number(marker, "hits")), 14) +
                    pad_left(with_commas(number(marker, "unmatched")), 11) + "  " +
                    (last_ns == 0 ? "never" : format_utc(last_ns)) + "\n";
            name.clear();
        }
    }
    if (rows.empty()) return {};
    return "\n" + paint(Colour::Bold, "  event           marker                    hits  unmatched  last hit") + "\n" +
           rows;
}

}  // namespace

std::vector<HistogramBucket> histogram_of(const object& event) {
    std::vector<HistogramBucket> buckets;
    const auto* value = event.if_contains("histogram");
    if (value == nullptr || !value->is_array()) return buckets;
    for (const auto& entry : value->as_array()) {
        if (!entry.is_object()) continue;
        const object& bucket = entry.as_object();
        buckets.push_back({number(bucket, "from_ns"), number(bucket, "to_ns"), number(bucket, "count")});
    }
    return buckets;
}

std::string event_lines(const object& answer, const Paint& paint) {
    return event_table(answer, paint) + marker_table(answer, paint);
}

}  // namespace lagtrap::cli
