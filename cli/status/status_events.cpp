#include "cli/status/status_events.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/bundles/delay_classes.hpp"
#include "cli/console/name_column.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/status/event_problems.hpp"
#include "cli/status/histogram.hpp"
#include "cli/status/limited_party.hpp"
#include "cli/status/threshold_text.hpp"
#include "core/clock.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {

namespace {

using boost::json::object;

std::vector<std::string> event_names(const object& answer) {
    std::vector<std::string> names;
    for (const auto& entry : list(answer, "events"))
        if (entry.is_object()) names.push_back(text(entry.as_object(), "name"));
    return names;
}

struct EventColumns {
    NameColumn names;
    std::size_t runs_width;
};

// Long names may use the space that the table leaves free: at the end of rows, and before the
// numbers of runs.
EventColumns event_columns(const object& answer) {
    constexpr std::size_t usual_runs_width = 14, other_columns = 2 + 9 + 8 + 3 * 9;
    std::size_t runs_width = width_of("runs"), state_width = 0;
    for (const auto& entry : list(answer, "events")) {
        if (!entry.is_object()) continue;
        runs_width = std::max(runs_width, width_of(with_commas(number(entry.as_object(), "runs"))));
        const std::string state = trouble_of(entry.as_object());
        if (!state.empty()) state_width = std::max(state_width, 1 + width_of(state));
    }
    runs_width += 2;
    const std::size_t taken = other_columns + runs_width + state_width;
    NameColumn names(event_names(answer), usual_name_width,
                     screen_width - std::min(screen_width, taken));
    const bool is_usual = names.width() == usual_name_width;
    return {std::move(names), is_usual ? std::max(runs_width, usual_runs_width) : runs_width};
}

std::string event_row(const object& event, const EventColumns& columns, const Paint& paint) {
    const auto histogram = histogram_of(event);
    const std::uint64_t runs = number(event, "runs");
    const std::uint64_t delays = number(event, "delays");
    const auto cell = [&](std::uint64_t length_ns) {
        return pad_left(runs > 0 ? duration(length_ns) : "-", 9);
    };
    std::string row = "  " + columns.names.cell(text(event, "name"));
    row += pad_left(threshold_cell(event), 9);
    row += pad_left(with_commas(runs), columns.runs_width);
    row += paint(delays > 0 ? Colour::Red : Colour::None, pad_left(with_commas(delays), 8));
    // Percentiles are interpolated in histogram buckets, so limit them to the longest run.
    const std::uint64_t longest_ns = number(event, "max_ns");
    for (const double share : {0.5, 0.99})
        row += cell(std::min(percentile_ns(histogram, share), longest_ns));
    row += cell(longest_ns);
    const std::string state = trouble_of(event);
    if (state.empty()) return row + "\n";
    const bool is_watched = state == "arming" || state == "partly";
    return row + paint(is_watched ? Colour::Yellow : Colour::Red, " " + state) + "\n";
}

std::string event_table(const object& answer, const Paint& paint) {
    const auto* value = answer.if_contains("events");
    if (value == nullptr || !value->is_array() || value->as_array().empty()) {
        return "  no events in the settings\n";
    }
    const EventColumns columns = event_columns(answer);
    std::string table = paint(Colour::Bold, "  " + pad_right("event", columns.names.width()) +
                                                "threshold" + pad_left("runs", columns.runs_width) +
                                                "  delays      p50      p99      max") +
                        "\n";
    std::string problems;
    for (const auto& entry : value->as_array()) {
        if (!entry.is_object()) continue;
        const object& event = entry.as_object();
        table += event_row(event, columns, paint);
        for (const std::string& problem : event_problems(event)) {
            problems += "  " + paint(Colour::Yellow, text(event, "name")) + ": " + problem + "\n";
        }
    }
    return table + (problems.empty() ? "" : "\n" + problems);
}

std::string point_of(const object& marker) {
    std::string stage = text(marker, "stage");
    return stage.empty() ? text(marker, "role") : stage;
}

// Begin, stages and end of each event. Without these counts, an unreached marker looks like an idle
// program.
std::string marker_table(const object& answer, const Paint& paint) {
    constexpr std::size_t max_width = 24;
    std::string rows;
    std::vector<std::string> points;
    for (const auto& entry : list(answer, "events")) {
        if (!entry.is_object()) continue;
        for (const auto& value : list(entry.as_object(), "markers"))
            if (value.is_object()) points.push_back(point_of(value.as_object()));
    }
    const NameColumn names(event_names(answer), usual_name_width, max_width);
    const NameColumn markers(points, usual_name_width, max_width);
    for (const auto& entry : list(answer, "events")) {
        if (!entry.is_object()) continue;
        std::string name = text(entry.as_object(), "name");
        for (const auto& value : list(entry.as_object(), "markers")) {
            if (!value.is_object()) continue;
            const object& marker = value.as_object();
            const std::uint64_t last_ns = number(marker, "last_realtime_ns");
            rows += "  " + names.cell(name) + markers.cell(point_of(marker)) +
                    pad_left(with_commas(number(marker, "hits")), 14) +
                    pad_left(with_commas(number(marker, "unmatched")), 11) + "  " +
                    (last_ns == 0 ? "never" : format_utc(last_ns)) + "\n";
            name.clear();
        }
    }
    if (rows.empty()) return {};
    return "\n" +
           paint(Colour::Bold, "  " + pad_right("event", names.width()) +
                                   pad_right("marker", markers.width()) +
                                   "          hits  unmatched  last hit") +
           "\n" + rows;
}

// The number of files and processes in which each event is watched, with the containers and units
// of copies.
std::string file_table(const object& answer, const Paint& paint) {
    constexpr std::size_t places_shown = 3, number_columns = 2 + 9 + 11;
    const NameColumn names(event_names(answer), usual_name_width, screen_width - number_columns);
    std::string rows;
    for (const auto& entry : list(answer, "events")) {
        if (!entry.is_object() || !entry.as_object().contains("files")) continue;
        const object& event = entry.as_object();
        std::string places;
        std::size_t shown = 0;
        for (const auto& value : list(event, "copies")) {
            if (!value.is_object() || !text(value.as_object(), "problem").empty()) continue;
            if (++shown <= places_shown)
                places += (places.empty() ? "" : ", ") + place_of(value.as_object());
        }
        if (shown > places_shown) places += ", ...";
        rows += "  " + names.cell(text(event, "name")) +
                pad_left(with_commas(number(event, "files")), 9) +
                pad_left(with_commas(number(event, "processes")), 11) +
                (places.empty() ? "" : "  " + places) + "\n";
    }
    if (rows.empty()) return {};
    return "\n" +
           paint(Colour::Bold,
                 "  " + pad_right("event", names.width()) + "    files  processes  copies") +
           "\n" + rows;
}

// "    delays mostly: lock (futex) 3, on a CPU 1", most frequent first.
std::string mostly_text(const object& event) {
    auto classes = delay_classes(event);
    std::erase_if(classes, [](const auto& one) { return one.second == 0; });
    std::stable_sort(classes.begin(), classes.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (classes.empty()) return {};
    constexpr std::size_t shown = 3;
    std::string text = "    delays mostly: ";
    for (std::size_t i = 0; i < classes.size() && i < shown; ++i)
        text += (i > 0 ? ", " : "") + classes[i].first + " " + with_commas(classes[i].second);
    return text + (classes.size() > shown ? ", ..." : "") + "\n";
}

// Where the time of runs went, for events whose threads' time is counted.
std::string time_table(const object& answer, const Paint& paint) {
    constexpr std::size_t number_columns = 2 + 9 + 3 * 12;
    const NameColumn names(event_names(answer), usual_name_width, screen_width - number_columns);
    std::string rows;
    for (const auto& entry : list(answer, "events")) {
        if (!entry.is_object()) continue;
        const object& event = entry.as_object();
        const object& timed = part(event, "timed");
        const std::uint64_t all_ns = number(timed, "ns");
        const std::uint64_t handed_over_ns = number(timed, "handed_over_ns");
        if (all_ns == 0 && handed_over_ns == 0) continue;
        const std::uint64_t on_cpu_ns = std::min(number(timed, "on_cpu_ns"), all_ns);
        const std::uint64_t runnable_ns =
            std::min(number(timed, "runnable_ns"), all_ns - on_cpu_ns);
        const auto share = [&](std::uint64_t part_ns) {
            return pad_left(
                all_ns == 0 ? ""
                            : percent(static_cast<double>(part_ns) / static_cast<double>(all_ns)),
                12);
        };
        rows += "  " + names.cell(text(event, "name")) + pad_left(duration(all_ns), 9) +
                share(on_cpu_ns) + share(runnable_ns) + share(all_ns - on_cpu_ns - runnable_ns);
        if (handed_over_ns > 0) rows += "  and " + duration(handed_over_ns) + " between threads";
        if (const std::uint64_t left_out = number(timed, "left_out"); left_out > 0)
            rows += "  without " + counted(left_out, "run", "runs");
        rows += "\n" + mostly_text(event);
    }
    if (rows.empty()) return {};
    return "\n" +
           paint(Colour::Bold, "  " + pad_right("event", names.width()) +
                                   " its time    on a CPU   for a CPU     blocked") +
           "\n" + rows;
}

}  // namespace

std::string recorded_for(const object& capture) {
    const object& client = part(capture, "client");
    return client.empty() ? text(capture, "event") : "a client, " + party_text(client);
}

std::string trouble_of(const object& event) {
    if (truth(event, "arming")) return "arming";
    if (is_watched_in_part(event) && (truth(event, "armed") || truth(event, "disabled")))
        return "partly";
    if (truth(event, "armed")) return {};
    return truth(event, "counting") ? "counted" : truth(event, "disabled") ? "disabled" : "off";
}

std::string event_lines(const object& answer, const Paint& paint) {
    return event_table(answer, paint) + file_table(answer, paint) + time_table(answer, paint) +
           marker_table(answer, paint);
}

}  // namespace lagtrap::cli
