#include "cli/status/event_problems.hpp"

#include <cstdint>

#include <fmt/core.h>

#include "cli/bundles/delay_classes.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/status/limited_party.hpp"
#include "core/clock.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {

using boost::json::object;

std::string place_of(const object& copy) {
    const std::string where = text(copy, "where");
    return text(copy, "path") + " (process " + std::to_string(number(copy, "pid")) +
           (where.empty() ? "" : " of " + where) + ")";
}

namespace {

// Problems with the control groups in its scope.
void add_group_problems(const object& event, std::vector<std::string>& problems) {
    const object& groups = part(event, "scope_groups");
    if (groups.empty()) return;
    if (const std::string problem = text(groups, "problem"); !problem.empty())
        problems.push_back("the control groups of its scope cannot be followed: " + problem);
    if (number(groups, "groups") == 0)
        problems.push_back("no unit or container matches its scope now");
    for (const auto& [what, containers] : part(groups, "not_known"))
        problems.push_back(
            counted(containers.is_number() ? containers.to_number<std::uint64_t>() : 0,
                    "container is", "containers are") +
            " not in its scope: the container manager's files lack the " + std::string(what));
}

// Problems with the files in which the event is watched or should be.
void add_file_problems(const object& event, std::vector<std::string>& problems) {
    if (const std::string problem = text(event, "copies_problem"); !problem.empty())
        problems.push_back("mapped files cannot be inspected, including in containers: " + problem);
    if (number(event, "files") == 0)
        for (const auto& path : list(event, "absent"))
            if (path.is_string())
                problems.push_back("no program at " + std::string(path.as_string()) + " yet");
    const object& namesake = part(event, "namesake");
    if (const std::string path = text(namesake, "path"); truth(event, "armed") && !path.empty())
        problems.push_back("no process uses its file, but " + place_of(namesake) +
                           " is a different file of that name; use binary=\"*" +
                           path.substr(path.rfind('/')) + "\" to watch all of them");
    for (const auto& entry : list(event, "copies")) {
        if (!entry.is_object() || text(entry.as_object(), "problem").empty()) continue;
        problems.push_back(place_of(entry.as_object()) +
                           " is not watched: " + text(entry.as_object(), "problem"));
    }
    if (const std::uint64_t left_out = number(event, "files_left_out"); left_out > 0)
        problems.push_back(counted(left_out, "file is", "files are") +
                           " not watched: the limit per event or user is reached");
}

// Its current function traces: a standing one, or one for a recording.
void add_function_notes(const object& event, std::vector<std::string>& notes) {
    const object& functions = part(event, "functions");
    for (const auto& entry : list(functions, "traces")) {
        if (!entry.is_object()) continue;
        const object& trace = entry.as_object();
        const std::string process =
            text(trace, "process") + " (" + std::to_string(number(trace, "pid")) + ")";
        if (number(trace, "watched") == 0) {
            notes.push_back("functions of process " + std::to_string(number(trace, "pid")) +
                            " are being searched");
            continue;
        }
        notes.push_back(fmt::format(
            "functions of {}: {} traced, {} detached (called too often); calls of at least {} are "
            "kept{}",
            process, with_commas(number(trace, "watched")), with_commas(number(trace, "detached")),
            duration(number(trace, "least_ns")),
            truth(trace, "recording") ? ", in the recording" : ""));
    }
    if (const std::uint64_t without = number(functions, "processes_without"); without > 0)
        notes.push_back(counted(without, "further process is", "further processes are") +
                        " traced only after a breach: the limit is reached");
    if (const std::string problem = text(functions, "problem"); !problem.empty())
        notes.push_back("functions cannot be traced: " + problem);
}

// What is not watched because it costs too much, or cannot be.
void add_watch_problems(const object& event, std::vector<std::string>& problems) {
    if (is_watched_in_part(event)) {
        const double share = real(event, "watched_share");
        problems.push_back(
            fmt::format("watched {:.0f} % of the time to stay within the budget; one run in {:.0f} "
                        "is timed; {}",
                        100 * share, 1 / share,
                        text(part(event, "precision"), "count") == "exact"
                            ? "the others are counted"
                            : "the number of others is estimated"));
    }
    if (!text(event, "problem").empty() &&
        !(is_watched_in_part(event) && truth(event, "disabled"))) {
        const bool disabled = truth(event, "disabled");
        problems.push_back(
            text(event, "problem") +
            (disabled ? "; retry in " + seconds_text(event, "again_in_seconds") : ""));
    }
    if (truth(event, "stages_disabled"))
        problems.push_back(
            "its stages have been disabled since " +
            format_utc(number(part(event, "precision"), "stages_off_since_realtime_ns")) +
            ": over budget; runs are timed without them; retry in " +
            seconds_text(event, "stages_again_in_seconds"));
    if (const std::uint64_t untimed = number(event, "counted"); untimed > 0)
        problems.push_back(counted(untimed, "begin was", "begins were") +
                           " only counted, not timed");
    if (truth(event, "stacks_disabled"))
        problems.push_back("stacks at its markers are disabled: over budget; retry in " +
                           seconds_text(event, "again_in_seconds"));
}

// Users and recordings that reached a limit.
void add_limits(const object& event, std::vector<std::string>& problems) {
    for (const auto& entry : list(event, "limits")) {
        if (!entry.is_object()) continue;
        const object& limit = entry.as_object();
        problems.push_back("not watched for " + party_text(limit) + ": " + text(limit, "reason") +
                           "; other users are; retry in " +
                           seconds_text(limit, "again_in_seconds"));
    }
    if (const object& without = part(event, "without_recordings");
        text(without, "reason") == "event-share")
        problems.push_back("used its share of the recordings per hour; none for " +
                           seconds_text(without, "seconds_left"));
    if (const object& without = part(event, "without_recordings");
        text(without, "reason") == "daily-limit")
        problems.push_back("used its recordings of the day; none for " +
                           seconds_text(without, "seconds_left"));
}

// Runs that are lost, open for long, or not paired.
void add_run_problems(const object& event, std::vector<std::string>& problems) {
    const auto add = [&](const char* key, const char* one, const char* many) {
        if (const std::uint64_t count = number(event, key); count > 0)
            problems.push_back(counted(count, one, many));
    };
    for (const auto& finding : list(event, "pairing"))
        if (finding.is_object()) problems.push_back(text(finding.as_object(), "sentence"));
    if (const std::uint64_t overdue = number(event, "open_overdue"); overdue > 0)
        problems.push_back(counted(overdue, "run is", "runs are") +
                           " open beyond the threshold, the oldest for " +
                           duration(number(event, "oldest_open_ns")));
    add("unmatched_begins", "begin without an end", "begins without an end");
    add("unmatched_ends", "end without a begin", "ends without a begin");
    add("unmatched_stages", "stage without a begin", "stages without a begin");
    add("failed", "run failed", "runs failed");
    add("cancelled", "run cancelled", "runs cancelled");
    const std::uint64_t left = number(event, "left_by_exception"),
                        abandoned = number(event, "abandoned");
    if (left > 0)
        problems.push_back(counted(left, "call", "calls") + " left by an exception or longjmp");
    if (abandoned > left)
        problems.push_back(counted(abandoned - left, "run", "runs") +
                           " abandoned by their thread or process");
    add("lost", "run lost: too many were open", "runs lost: too many were open");
    add("expired", "run expired: open for too long", "runs expired: open for too long");
    add("too_deep", "run nested too deep", "runs nested too deep");
    add("trace_texts_lost", "trace id lost or unreadable", "trace ids lost or unreadable");
    add("limited", "hit by limited users and processes", "hits by limited users and processes");
}

}  // namespace

std::vector<std::string> event_problems(const object& event) {
    std::vector<std::string> problems;
    add_watch_problems(event, problems);
    add_limits(event, problems);
    add_function_notes(event, problems);
    add_group_problems(event, problems);
    add_file_problems(event, problems);
    add_run_problems(event, problems);
    return problems;
}

}  // namespace lagtrap::cli
