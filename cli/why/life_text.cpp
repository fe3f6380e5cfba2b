#include "cli/why/life_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "analysis/delay_report.hpp"
#include "cli/console/ratio.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/reports/report_functions.hpp"
#include "cli/why/losses.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

using analysis::CommandLife;
using analysis::LifePart;
using analysis::LongWait;
using analysis::StartedProcess;
using analysis::TimeKind;

constexpr std::size_t parts_shown = 8;
constexpr std::size_t waits_shown = 3;
constexpr std::size_t processes_shown = 5;
constexpr std::uint64_t min_share = 100;  // parts below 1/100 of the whole are omitted

std::string headline(const CommandLife& life, const LifeFacts& facts, const Paint& paint,
                     std::size_t columns) {
    const std::string end =
        " took " + duration(facts.took_ns) +
        (facts.exit_code == 0 ? "" : ", exit status " + std::to_string(facts.exit_code));
    const std::string command =
        cut_end(printable(facts.command), columns - std::min(columns - 20, end.size()));
    std::string text = paint(Colour::Bold, command) + end + "\n";
    if (facts.beyond_limit)
        text += "  The recording ended first, after " + duration(life.delay.duration_ns) +
                ". --limit records more.\n";
    return text;
}

std::string state_of(const LifePart& part) {
    switch (part.kind) {
        case TimeKind::OnCpu: return "on a CPU";
        case TimeKind::Runnable: return "waiting for a CPU";
        case TimeKind::Blocked: return "blocked: " + part.reason;
        case TimeKind::Unknown: break;
    }
    return "unknown: " + part.reason;
}

std::string parts_part(const CommandLife& life, const Paint& paint, std::size_t columns) {
    const std::uint64_t whole_ns = life.split.wall_ns;
    std::string text = section_title(paint, "Where the time went",
                                     "in the command and in processes it waited for");
    std::uint64_t rest_ns = 0;
    std::size_t shown = 0;
    for (const LifePart& part : life.parts) {
        if (shown == parts_shown || part.time_ns * min_share < whole_ns) {
            rest_ns += part.time_ns;
            continue;
        }
        ++shown;
        std::string who = part.process.empty() ? "unknown process" : printable(part.process);
        if (part.processes > 1) who += " (" + with_commas(part.processes) + " processes)";
        text += "  " + pad_left(duration(part.time_ns), 9) +
                pad_left(percent(ratio(part.time_ns, whole_ns)), 7) + "  " + pad_right(who, 27) +
                " " + cut_end(printable(state_of(part)), columns - 48) + "\n";
    }
    if (rest_ns * min_share >= whole_ns && rest_ns > 0)
        text += "  " + pad_left(duration(rest_ns), 9) +
                pad_left(percent(ratio(rest_ns, whole_ns)), 7) + "  other\n";
    return text;
}

std::string causes_part(const CommandLife& life, const Paint& paint, std::size_t columns) {
    std::string text;
    for (const std::string& sentence : analysis::life_sentences(life))
        text += wrap_words(printable(sentence), columns, 2);
    return text.empty() ? "" : section_title(paint, "Cause") + text;
}

std::string end_of_wait(const LongWait& wait) {
    if (wait.went_on) return "it was still waiting";
    if (wait.timed_out) return "timed out";
    if (wait.ended_by.tid == 0) return {};
    const std::string& process =
        wait.ended_by.process.empty() ? wait.ended_by.thread : wait.ended_by.process;
    return "ended by " + printable(process) + " (" + std::to_string(wait.ended_by.pid) + ")";
}

std::string waits_part(const CommandLife& life, const Paint& paint, std::size_t columns) {
    std::string text;
    std::size_t shown = 0;
    for (const LongWait& wait : life.waits) {
        if (shown++ == waits_shown || wait.length_ns * min_share < life.split.wall_ns) break;
        const std::string end = end_of_wait(wait);
        text += "  " + pad_left("+" + duration(wait.offset_ns), 9) +
                pad_left(duration(wait.length_ns), 10) + "  " +
                cut_end(printable(wait.reason) + (end.empty() ? "" : ", " + end), columns - 23) +
                "\n";
    }
    return text.empty() ? ""
                        : section_title(paint, "Longest waits",
                                        "of its main thread: start, length, reason") +
                              text;
}

// Lists the processes that lived longest.
std::string started_part(const CommandLife& life, const Paint& paint, std::size_t columns) {
    if (life.started.empty()) return "";
    std::vector<const StartedProcess*> longest;
    for (const StartedProcess& process : life.started) longest.push_back(&process);
    std::stable_sort(
        longest.begin(), longest.end(),
        [](const StartedProcess* a, const StartedProcess* b) { return a->life_ns > b->life_ns; });
    if (longest.size() > processes_shown) longest.resize(processes_shown);
    std::stable_sort(longest.begin(), longest.end(),
                     [](const StartedProcess* a, const StartedProcess* b) {
                         return a->offset_ns < b->offset_ns;
                     });
    std::string note = counted(life.started.size(), "process", "processes");
    if (life.started.size() > longest.size())
        note += "; the longest " + std::to_string(longest.size());
    note += ": start, length, CPU time";
    std::string text = section_title(paint, "It started", note);
    for (const StartedProcess* process : longest)
        text += "  " + pad_left("+" + duration(process->offset_ns), 9) +
                pad_left(duration(process->life_ns), 10) +
                pad_left(duration(process->on_cpu_ns), 10) + "  " +
                cut_end(printable(process->command_line.empty() ? process->name
                                                                : process->command_line),
                        columns - 33) +
                "\n";
    return text;
}

}  // namespace

std::string life_text(const analysis::Recording& recording, const CommandLife& life,
                      const LifeFacts& facts, const Paint& paint, std::size_t columns) {
    std::string text = headline(life, facts, paint, columns);
    if (life.delay.duration_ns == 0) return text + "  It ended before anything was recorded.\n";
    return text + causes_part(life, paint, columns) + parts_part(life, paint, columns) +
           waits_part(life, paint, columns) + started_part(life, paint, columns) +
           losses_part(recording, columns);
}

}  // namespace lagtrap::cli
