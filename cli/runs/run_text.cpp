#include "cli/runs/run_text.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "analysis/before_recording.hpp"
#include "cli/console/name_column.hpp"
#include "cli/console/ratio.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/status/histogram.hpp"
#include "core/clock.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t time_width = 10;

std::string stage_title(const std::string& stage) {
    return stage.empty() ? "(until the first)" : printable(stage);
}

// "2026-11-21 04:33:09" of "2026-11-21T04:33:09.143456Z".
std::string second_of(std::uint64_t realtime_ns) {
    std::string text = format_utc(realtime_ns).substr(0, 19);
    std::replace(text.begin(), text.end(), 'T', ' ');
    return text;
}

std::string table_head(const NameColumn& names, const Paint& paint) {
    std::string head = "  " + names.cell("") + pad_left("runs", time_width);
    for (const char* title : {"median", "p90", "p99", "p99.9", "longest"})
        head += pad_left(title, time_width);
    return paint(Colour::Dim, head) + "\n";
}

std::string table_row(const std::string& name, const NameColumn& names,
                      const Durations& durations) {
    std::string row = "  " + names.cell(name) + pad_left(with_commas(durations.runs()), time_width);
    for (const double share : {0.5, 0.9, 0.99, 0.999})
        row += pad_left(duration(durations.percentile_ns(share)), time_width);
    return row + pad_left(duration(durations.longest_ns()), time_width) + "\n";
}

// "plan to execute".
std::string title_of(const RunSpan& span) {
    return (span.from.empty() ? "begin" : printable(span.from)) + " to " +
           (span.to.empty() ? "end" : printable(span.to));
}

bool is_shown(const std::string& stage, const RunWish& wish) {
    return wish.span.is_whole() && (wish.stage.empty() || stage == wish.stage);
}

std::string percentile_table(const RunSummary& summary, const RunWish& wish, const Paint& paint) {
    std::vector<std::string> titles{"whole run"};
    for (const auto& [stage, durations] : summary.stages)
        if (is_shown(stage, wish)) titles.push_back(stage_title(stage));
    if (!wish.span.is_whole()) titles.push_back(title_of(wish.span));
    const NameColumn names(titles, 10, 18);
    std::string text = table_head(names, paint) + table_row(titles.front(), names, summary.whole);
    for (const auto& [stage, durations] : summary.stages)
        if (is_shown(stage, wish)) text += table_row(stage_title(stage), names, durations);
    if (!wish.span.is_whole()) text += table_row(titles.back(), names, summary.span);
    return text;
}

// "83 % lock": what took most of the run's time.
std::string mostly(const trace::RecordedRun& run) {
    if (!run.times) return "";
    const trace::TimeParts& parts = run.times->parts;
    std::string what = "on a CPU";
    std::uint64_t most_ns = parts.on_cpu_ns;
    const auto consider = [&](std::uint64_t time_ns, std::string_view words) {
        if (time_ns <= most_ns) return;
        most_ns = time_ns;
        what = words;
    };
    consider(parts.runnable_ns, "waiting for a CPU");
    for (std::uint32_t wait_class = 0; wait_class < parts.blocked_ns.size(); ++wait_class)
        consider(parts.blocked_ns[wait_class], analysis::reason_of_class(wait_class));
    consider(run.times->handed_over_ns, "between threads");
    return percent(std::min(1.0, ratio(most_ns, run.duration_ns))) + " " + what;
}

std::string longest_stage(const trace::RecordedRun& run) {
    const auto stages = stages_of(run);
    const auto longest = std::max_element(
        stages.begin(), stages.end(),
        [](const auto& a, const auto& b) { return a.duration_ns < b.duration_ns; });
    if (longest == stages.end() || longest->name.empty()) return "";
    return ", " + percent(ratio(longest->duration_ns, run.duration_ns)) + " in " +
           printable(longest->name);
}

// The second column of single runs: the time between the wished points, if any are wished.
std::string span_cell(const trace::RecordedRun& run, const RunWish& wish) {
    if (wish.span.is_whole()) return "";
    const auto length_ns = length_of(wish.span, run);
    return pad_left(length_ns ? duration(*length_ns) : "-", time_width);
}

std::string single_runs(const RunSummary& summary, const RunWish& wish, const RunLook& look) {
    if (summary.runs.empty()) return "";
    std::string text =
        "\n" + look.paint(Colour::Bold, wish.slowest ? "Slowest runs" : "Newest runs");
    if (!wish.span.is_whole()) text += "  whole, and from " + title_of(wish.span);
    if (wish.slowest && !wish.stage.empty()) text += "  by their time in " + printable(wish.stage);
    text += "\n";
    for (const trace::RecordedRun& run : summary.runs) {
        const std::string took = pad_left(duration(run.duration_ns), time_width);
        const std::string row = "  " + second_of(run.begin_realtime_ns) +
                                (run.delay ? look.paint(Colour::Red, took) : took) +
                                span_cell(run, wish) + "  ";
        const std::string who = printable(run.process) + " (" + std::to_string(run.pid) + ")";
        const std::string where = mostly(run);
        const std::size_t used = 2 + 19 + time_width + span_cell(run, wish).size() + 2;
        text += row +
                cut_end(who + (where.empty() ? "" : ", " + where) +
                            (wish.span.is_whole() ? longest_stage(run) : ""),
                        std::max<std::size_t>(look.columns, used + 20) - used) +
                "\n";
    }
    return text;
}

std::string notes(const SpoolRuns& found) {
    std::string text;
    const RunSummary& summary = found.summary;
    if (summary.dirty > 0)
        text += "Without " + counted(summary.dirty, "run", "runs") +
                " that failed, was cancelled or suspended, or lacks a stage.\n";
    if (summary.without_span > 0)
        text += counted(summary.without_span, "run does", "runs do") +
                " not have both points in this order.\n";
    if (summary.lost > 0)
        text += counted(summary.lost, "run was", "runs were") + " lost and not counted.\n";
    for (const BatchFailure& failure : found.unreadable)
        text += "Not read: " + printable(failure.file) + ": " + printable(failure.reason) + "\n";
    return text.empty() ? "" : "\n" + text;
}

json::object durations_json(const Durations& durations) {
    return {{"runs", durations.runs()},
            {"median_ns", durations.percentile_ns(0.5)},
            {"p90_ns", durations.percentile_ns(0.9)},
            {"p99_ns", durations.percentile_ns(0.99)},
            {"p999_ns", durations.percentile_ns(0.999)},
            {"longest_ns", durations.longest_ns()}};
}

json::object run_json(const trace::RecordedRun& run) {
    json::array stages;
    for (const RunStageTime& stage : stages_of(run))
        stages.push_back(json::object{{"name", stage.name}, {"duration_ns", stage.duration_ns}});
    return {{"began", format_utc(run.begin_realtime_ns)},
            {"begin_realtime_ns", run.begin_realtime_ns},
            {"duration_ns", run.duration_ns},
            {"delay", run.delay},
            {"process", run.process},
            {"pid", run.pid},
            {"thread", run.thread},
            {"tid", run.begin_tid},
            {"unit", run.unit},
            {"weight", run.weight},
            {"stages", std::move(stages)}};
}

}  // namespace

std::string runs_text(const SpoolRuns& found, const RunWish& wish, const RunLook& look) {
    const RunSummary& summary = found.summary;
    const std::uint64_t runs = summary.whole.runs() + summary.dirty;
    std::string text = look.paint(Colour::Bold, printable(wish.event)) + ": " +
                       counted(runs, "run", "runs") + ", " + second_of(summary.first_realtime_ns) +
                       " to " + second_of(summary.last_realtime_ns) + " UTC, " +
                       counted(summary.delays, "delay", "delays") + "\n";
    return text + percentile_table(summary, wish, look.paint) + single_runs(summary, wish, look) +
           notes(found);
}

json::object runs_json(const SpoolRuns& found, const RunWish& wish) {
    const RunSummary& summary = found.summary;
    json::array stages, runs, failures;
    for (const auto& [stage, durations] : summary.stages) {
        json::object one = durations_json(durations);
        one["name"] = stage;
        stages.push_back(std::move(one));
    }
    for (const trace::RecordedRun& run : summary.runs) runs.push_back(run_json(run));
    for (const BatchFailure& failure : found.unreadable)
        failures.push_back(json::object{{"file", failure.file}, {"reason", failure.reason}});
    json::object result{{"event", wish.event},
                        {"source", "runs"},
                        {"whole", durations_json(summary.whole)},
                        {"stages", std::move(stages)},
                        {"delays", summary.delays},
                        {"runs_left_out", summary.dirty},
                        {"runs_lost", summary.lost},
                        {"runs", std::move(runs)},
                        {"unreadable", std::move(failures)}};
    if (wish.span.is_whole()) return result;
    json::object span = durations_json(summary.span);
    span["from"] = wish.span.from.empty() ? json::value(nullptr) : json::value(wish.span.from);
    span["to"] = wish.span.to.empty() ? json::value(nullptr) : json::value(wish.span.to);
    span["runs_without"] = summary.without_span;
    result["span"] = std::move(span);
    return result;
}

std::string histogram_text(const json::object& event, const RunLook& look) {
    const auto histogram = histogram_of(event);
    std::string text = look.paint(Colour::Bold, cli::text(event, "name")) + ": " +
                       counted(number(event, "runs"), "run", "runs") + " since lagtrapd started, " +
                       counted(number(event, "delays"), "delay", "delays") + "\n  ";
    for (const auto& [title, share] :
         {std::pair{"median ", 0.5}, {"p90 ", 0.9}, {"p99 ", 0.99}, {"p99.9 ", 0.999}})
        text += title + duration(percentile_ns(histogram, share)) + ", ";
    return text + "longest " + duration(number(event, "max_ns")) + "\n" +
           wrap_words(fmt::format("These are estimates from a histogram. For single runs and "
                                  "stages, set record=\"runs\" in <event name=\"{}\">.",
                                  cli::text(event, "name")),
                      look.columns, 0);
}

json::object histogram_json(const json::object& event) {
    const auto histogram = histogram_of(event);
    return {{"event", cli::text(event, "name")},
            {"source", "histogram"},
            {"whole",
             {{"runs", number(event, "runs")},
              {"median_ns", percentile_ns(histogram, 0.5)},
              {"p90_ns", percentile_ns(histogram, 0.9)},
              {"p99_ns", percentile_ns(histogram, 0.99)},
              {"p999_ns", percentile_ns(histogram, 0.999)},
              {"longest_ns", number(event, "max_ns")}}},
            {"delays", number(event, "delays")}};
}

}  // namespace lagtrap::cli
