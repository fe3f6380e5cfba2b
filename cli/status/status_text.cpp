#include "cli/status/status_text.hpp"

#include <chrono>
#include <cstdio>
#include <utility>

#include <boost/json.hpp>

#include "cli/console/text_layout.hpp"
#include "cli/console/user_name.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/status/limit_lines.hpp"
#include "cli/status/status_events.hpp"
#include "cli/status/status_history.hpp"
#include "core/clock.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {

namespace {

using boost::json::object;

std::string state_line(const object& answer, const Paint& paint) {
    std::string state = text(answer, "state");
    if (const object& arming = part(answer, "arming"); !arming.empty())
        return paint(Colour::Yellow, "arming") + " " + with_commas(number(arming, "done")) +
               " of " + counted(number(arming, "of"), "event", "events") +
               (state == "waiting" ? "" : "; " + state);
    const object& pending = part(answer, "pending");
    if (!pending.empty()) {
        return paint(Colour::Yellow, "asks") + " whether to keep a recording of " +
               text(pending, "event") + ": \"lagtrap approve\" or \"lagtrap decline\"; " +
               seconds_text(pending, "seconds_left") + " left";
    }
    const object& capture = part(answer, "capture");
    if (!capture.empty()) {
        return paint(Colour::Yellow, state) + " for " + recorded_for(capture) + ", " +
               seconds_text(capture, "seconds_left") + " left (session " +
               text(capture, "session").substr(0, 8) + ")";
    }
    return state;
}

std::string captures_line(const object& answer) {
    const object& captures = part(answer, "captures");
    std::string line = counted(number(captures, "done"), "recording", "recordings") + " made";
    const auto add = [&](const char* key, const char* what) {
        if (const std::uint64_t count = number(captures, key); count > 0)
            line += ", " + with_commas(count) + " " + what;
    };
    add("failed", "failed");
    add("without_names", "without function names (merge took too long)");
    add("waiting", "waiting to be merged");
    add("set_aside", "set aside (cannot be merged)");
    add("removed", "removed before merging");
    add("declined", "declined");
    add("skipped_cool_down", "skipped (cool-down)");
    add("skipped_hourly_limit", "skipped (hourly limit)");
    add("skipped_event_share", "skipped (event limit)");
    add("skipped_daily_limit", "skipped (daily limit)");
    add("skipped_questions", "skipped (too many questions open)");
    add("skipped_user_share", "skipped (user limit)");
    return line;
}

// If a merge took too long: the file it waited for.
std::string held_up_line(const object& answer, const Paint& paint) {
    const object& held_up = part(answer, "merge_held_up");
    if (held_up.empty()) return {};
    const auto* user = held_up.if_contains("user");
    const bool known = user != nullptr && !user->is_null();
    return "              " +
           paint(Colour::Yellow,
                 "a merge timed out waiting for a file of user " +
                     (known ? user_text(static_cast<std::uint32_t>(number(held_up, "user")))
                            : std::string("unknown"))) +
           "\n              " + text(held_up, "path") + "\n";
}

// If events record their runs: how many were reported, how many others they stand for, and how many
// were lost.
std::string recorded_lines(const object& answer, const Paint& paint) {
    std::uint64_t reported = 0, sampled_away = 0, ring_full = 0, stacks_lost = 0;
    bool any = false;
    const auto* events = answer.if_contains("events");
    if (events == nullptr || !events->is_array()) return {};
    for (const auto& entry : events->as_array()) {
        if (!entry.is_object()) continue;
        const object& recorded = part(entry.as_object(), "recorded");
        if (recorded.empty()) continue;
        any = true;
        reported += number(recorded, "reported");
        sampled_away += number(recorded, "sampled_away");
        ring_full += number(recorded, "ring_full");
        stacks_lost += number(recorded, "stacks_lost");
    }
    if (!any) return {};
    const object& batches = part(answer, "batches");
    std::string lines = "  runs        " + with_commas(reported) + " reported, " +
                        with_commas(sampled_away) + " sampled away, " +
                        counted(number(batches, "written"), "batch", "batches") + "\n";
    const auto warn = [&](std::uint64_t count, const std::string& what) {
        if (count > 0) lines += "              " + paint(Colour::Yellow, what) + "\n";
    };
    const std::uint64_t lost = number(batches, "lost_runs");
    const std::uint64_t removed = number(batches, "removed");
    warn(lost, counted(lost, "run", "runs") + " lost: write error, or the daemon was killed");
    warn(removed, counted(removed, "batch", "batches") + " removed unsent: the spool was full");
    warn(ring_full,
         counted(ring_full, "report", "reports") + " did not fit: the next ones count for them");
    warn(stacks_lost, counted(stacks_lost, "marker", "markers") + " without a stack");
    if (const std::string problem = text(batches, "problem"); !problem.empty())
        lines += "              " + paint(Colour::Red, "no reports: ") + problem + "\n";
    return lines;
}

std::string cost_line(const object& answer) {
    const object& cost = part(answer, "cost");
    return duration(number(cost, "daemon_cpu_ns")) + " of CPU, " +
           duration(number(cost, "bpf_run_time_ns")) + " in BPF, " +
           format_byte_size(number(cost, "memory_bytes"));
}

std::string share_text(const object& from, const char* key) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.1f %%",
                  static_cast<double>(number(from, key)) / 10'000);
    return digits;
}

// If the daemon has a budget: its last measured overhead, and the limit.
std::string budget_lines(const object& answer, const Paint& paint) {
    const object& budget = part(answer, "budget");
    if (budget.empty()) return {};
    std::string lines = "  watching    " + share_text(budget, "used_ppm") + " of a CPU, limit " +
                        share_text(budget, "share_ppm") + "\n";
    if (truth(budget, "exhausted"))
        lines +=
            "              " +
            paint(Colour::Yellow, "over the limit, with everything in <budget disable> disabled") +
            "\n";
    return lines;
}

// The events of clients that use `lagtrap watch`.
std::string temporary_lines(const object& answer) {
    std::string lines;
    for (const auto& entry : list(answer, "temporary")) {
        if (!entry.is_object()) continue;
        const object& event = entry.as_object();
        lines += (lines.empty() ? "  temporary   " : "              ") + text(event, "event") +
                 " of user " + user_text(static_cast<std::uint32_t>(number(event, "user"))) +
                 ", for " + seconds_text(event, "seconds") + "; " + share_text(event, "used_ppm") +
                 " of a CPU, limit " + share_text(event, "share_ppm") + "\n";
    }
    return lines;
}

// If the daemon's unit has a memory limit: how much the unit uses, and what is disabled for lack of
// memory.
std::string memory_lines(const object& answer, const Paint& paint) {
    const object& memory = part(answer, "memory");
    if (memory.empty()) return {};
    std::string lines = "  memory      " + format_byte_size(number(memory, "used_bytes")) + " of " +
                        format_byte_size(number(memory, "limit_bytes")) + ", the unit's limit\n";
    const auto warn = [&](bool is, const std::string& what) {
        if (is) lines += "              " + paint(Colour::Yellow, what) + "\n";
    };
    warn(truth(memory, "tables_held"), "low: new programs get no unwind tables");
    warn(truth(memory, "merges_held"), "low: recordings wait to be merged");
    const std::uint64_t killed = number(memory, "killed");
    warn(killed > 0, counted(killed, "process", "processes") +
                         " of the unit killed by the kernel at the limit");
    return lines;
}

// The unwind tables of a daemon that uses them, if there is anything to report.
std::string unwinding_lines(const object& answer, const Paint& paint) {
    const object& unwinder = part(answer, "unwinder");
    if (unwinder.empty()) return {};
    std::string lines = "  unwinding   " + counted(number(unwinder, "tables"), "table", "tables") +
                        " for " + counted(number(unwinder, "processes"), "process", "processes") +
                        ", " + format_byte_size(number(unwinder, "used_bytes")) + " of " +
                        format_byte_size(number(unwinder, "budget_bytes"));
    if (const std::uint64_t waiting = number(unwinder, "tables_waiting"); waiting > 0)
        lines += ", " + with_commas(waiting) + " to build";
    if (const std::uint64_t kept = number(unwinder, "tables_kept"); kept > 0)
        lines += ", " + with_commas(kept) + " kept for watched programs";
    lines += "\n";
    const auto warn = [&](const char* key, const char* one, const char* many, const char* what) {
        if (const std::uint64_t count = number(unwinder, key); count > 0)
            lines += "              " +
                     paint(Colour::Yellow, counted(count, one, many) + " " + what) + "\n";
    };
    warn("tables_without_room", "table", "tables",
         "did not fit: stacks end in these files (<unwinding memory>)");
    warn("processes_left_out", "process", "processes",
         "over the limit: their stacks are not unwound");
    warn("spaces_without_room", "process", "processes",
         "with mappings that did not fit (<unwinding memory>)");
    warn("mappings_left_out", "mapping", "mappings", "over the limit of 512 per process");
    warn("lost", "process event", "process events", "lost: all processes were read again");
    const auto* largest = unwinder.if_contains("largest");
    if (largest == nullptr || !largest->is_array()) return lines;
    std::size_t shown = 0;
    for (const auto& entry : largest->as_array()) {
        if (!entry.is_object() || ++shown > 3) break;
        lines += "              " +
                 pad_left(format_byte_size(number(entry.as_object(), "bytes")), 9) + "  " +
                 text(entry.as_object(), "path") + "\n";
    }
    return lines;
}

// "root", "root and the group lagtrap", "anyone"
std::string who_may(const object& control, const char* key) {
    const std::string callers = text(control, key), group = text(control, "group");
    if (callers == "group" && !group.empty()) return "root and the group " + group;
    return callers == "anyone" ? callers : "root";
}

// Who may ask the daemon for what, and who was refused.
std::string control_lines(const object& answer) {
    const object& control = part(answer, "control");
    if (text(control, "read").empty()) return {};
    std::string lines = "  control     " + who_may(control, "read") + " may read, " +
                        who_may(control, "change") + " may start recordings\n              " +
                        who_may(control, "trace") + " may trace other users' processes\n";
    const std::uint64_t denied = number(control, "denied"),
                        turned_away = number(control, "turned_away");
    if (denied + turned_away > 0)
        lines += "              " + counted(denied, "request", "requests") + " denied, " +
                 counted(turned_away, "connection", "connections") + " turned away\n";
    return lines;
}

// The processes that read other users' files for the daemon.
std::string reader_lines(const object& answer, const Paint& paint) {
    const object& reader = part(answer, "file_reader");
    if (reader.empty()) return {};
    std::string lines =
        "  files       read by " + counted(number(reader, "started"), "process", "processes");
    if (number(reader, "user") > 0) lines += " of user " + std::to_string(number(reader, "user"));
    lines += "; " + with_commas(number(reader, "ended")) + " crashed on a file, " +
             with_commas(number(reader, "stopped")) + " stopped\n";
    const auto add = [&](Colour colour, const std::string& line) {
        lines += "              " + paint(colour, line) + "\n";
    };
    if (truth(reader, "as_root"))
        add(Colour::Yellow, "run as root without capabilities: CAP_SETUID, CAP_SETGID missing");
    if (const std::string problem = text(reader, "problem"); !problem.empty()) {
        add(Colour::Red, problem);
        add(Colour::Red,
            counted(number(reader, "not_started"), "failed attempt", "failed attempts"));
    }
    if (const auto stuck = number(reader, "stuck"); stuck > 0)
        add(Colour::Yellow, counted(stuck, "stopped process", "stopped processes") +
                                " blocked by file systems that do not respond");
    std::size_t shown = 0;
    for (const auto& file : list(reader, "unreadable")) {
        if (!file.is_object() || ++shown > 3) break;
        add(Colour::Yellow,
            text(file.as_object(), "path") + ": " + text(file.as_object(), "problem"));
    }
    return lines;
}

}  // namespace

std::string status_text(const object& answer, const Paint& paint) {
    const object& settings = part(answer, "settings");
    const object& bundle = part(answer, "last_bundle");
    std::string shown = paint(Colour::Bold, "lagtrapd " + text(answer, "version")) + ", process " +
                        std::to_string(number(answer, "pid")) + ", since " +
                        format_utc(number(answer, "started_realtime_ns")) + "\n";
    shown += "  state       " + state_line(answer, paint) + "\n";
    shown += "  settings    " + text(settings, "path") + ", read " +
             format_utc(number(settings, "loaded_realtime_ns")) + "\n";
    if (!text(settings, "reload_error").empty()) {
        shown += "              " + paint(Colour::Red, "last reload failed: ") +
                 text(settings, "reload_error") + "\n";
    }
    shown += "  recordings  " + captures_line(answer) + "\n" + share_lines(answer, paint);
    if (!bundle.empty()) {
        shown += "  last        " + text(bundle, "event") + ": " + text(bundle, "path") + "\n";
    }
    shown += held_up_line(answer, paint);
    if (const std::string problem = text(part(answer, "spool"), "problem"); !problem.empty())
        shown +=
            "  spool       " + paint(Colour::Red, "limits cannot be enforced: ") + problem + "\n";
    shown += recorded_lines(answer, paint);
    shown += "  own cost    " + cost_line(answer) + "\n";
    shown += memory_lines(answer, paint);
    shown += budget_lines(answer, paint);
    shown += temporary_lines(answer);
    shown += unwinding_lines(answer, paint);
    shown += history_lines(answer, paint);
    shown += limited_lines(answer, paint);
    shown += reader_lines(answer, paint);
    shown += watched_file_lines(answer, paint);
    shown += limited_look_lines(answer, paint);
    shown += control_lines(answer) + "\n";
    return shown + event_lines(answer, paint);
}

}  // namespace lagtrap::cli
