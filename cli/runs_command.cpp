#include <algorithm>
#include <chrono>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/commands.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/control_client.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/runs/run_text.hpp"
#include "core/clock.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

Result<std::uint64_t> begin_of(const std::string& since) {
    const auto length = parse_duration(since);
    if (!length) return make_error(ErrorKind::Invalid, "--since: " + length.error().message);
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    return now_ns - std::min(now_ns, static_cast<std::uint64_t>(length->count()));
}

std::vector<std::string> stage_names(const RunSummary& summary) {
    std::vector<std::string> names;
    for (const auto& [stage, durations] : summary.stages)
        if (!stage.empty()) names.push_back(stage);
    return names;
}

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
    return text;
}

// The daemon's event of that name; an empty object if there is none, or no daemon.
json::object event_of_daemon(const RunsOptions& options, std::vector<std::string>& names) {
    const auto status = ask_daemon(options.socket, {{"command", "status"}});
    json::object found;
    if (!status) return found;
    for (const json::value& event : list(*status, "events")) {
        if (!event.is_object()) continue;
        names.push_back(text(event.get_object(), "name"));
        if (names.back() == options.event) found = event.get_object();
    }
    return found;
}

// Without single runs, the daemon's histogram has to do.
Result<std::string> text_of_histogram(const RunsOptions& options, const SpoolRuns& found,
                                      const RunLook& look) {
    std::vector<std::string> names;
    const json::object event = event_of_daemon(options, names);
    for (const auto& [name, runs] : found.summary.events)
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    if (event.empty()) {
        const std::string nearest = nearest_name(options.event, names);
        const std::string what = "no runs of \"" + printable(options.event) + "\" in the last " +
                                 options.since + " in the spool " + options.spool +
                                 ", and the daemon has no such event";
        if (!nearest.empty())
            return make_error(ErrorKind::NotFound, what + "; did you mean \"" + nearest + "\"?");
        return make_error(ErrorKind::NotFound,
                          what + (names.empty() ? "" : "; there are " + listed(names)));
    }
    if (!options.stage.empty() || !options.from.empty() || !options.to.empty() || options.slowest)
        return make_error(ErrorKind::NotFound,
                          fmt::format("no single runs of \"{0}\" in the last {1} in the spool {2}; "
                                      "set record=\"runs\" in <event name=\"{0}\">, or if it is "
                                      "set, try a longer --since or <spool keep-sent-runs>",
                                      printable(options.event), options.since, options.spool));
    return options.json ? json::serialize(histogram_json(event)) + "\n"
                        : histogram_text(event, look);
}

Result<std::string> text_of_runs(const RunsOptions& options, const Console& console) {
    TRY_ASSIGN(const std::uint64_t since_ns, begin_of(options.since));
    const RunWish wish{
        options.event, since_ns, options.stage, options.slowest, {options.from, options.to}};
    TRY_ASSIGN(const SpoolRuns found, read_runs(options.spool, wish));
    const RunLook look{console.paint, console.columns};
    if (found.summary.runs.empty()) return text_of_histogram(options, found, look);
    const auto names = stage_names(found.summary);
    for (const std::string& stage : {options.stage, options.from, options.to})
        if (!stage.empty() && std::find(names.begin(), names.end(), stage) == names.end())
            return make_error(
                ErrorKind::NotFound,
                "the runs of \"" + printable(options.event) + "\" have no stage \"" +
                    printable(stage) +
                    (names.empty() ? "\"; they have no stages" : "\"; they have " + listed(names)));
    if (found.summary.span.runs() == 0 && !wish.span.is_whole())
        return make_error(ErrorKind::NotFound,
                          "no run of \"" + printable(options.event) + "\" reaches " +
                              (options.from.empty() ? "its begin" : printable(options.from)) +
                              " and later " +
                              (options.to.empty() ? "its end" : printable(options.to)));
    return options.json ? json::serialize(runs_json(found, wish)) + "\n"
                        : runs_text(found, wish, look);
}

}  // namespace

int show_runs(const RunsOptions& options, Console& console) {
    const auto text = text_of_runs(options, console);
    if (!text) return console.fail(text.error().message);
    console.out << *text;
    return exit_done;
}

}  // namespace lagtrap::cli
