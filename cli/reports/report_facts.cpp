#include "cli/reports/report_facts.hpp"

#include <algorithm>

#include "analysis/open_delay.hpp"
#include "analysis/request_words.hpp"
#include "cli/console/text_layout.hpp"
#include "core/clock.hpp"
#include "core/duration.hpp"

namespace lagtrap::cli {
namespace {

// The command line, if it has more than the program's path.
std::string command_line_of(const analysis::Recording& recording, const trace::Delay& delay,
                            const ReportLook& look) {
    const auto process = recording.processes.find(delay.begin_pid);
    if (process == recording.processes.end()) return "";
    const std::string& command = process->second.command_line;
    if (command.find(' ') == std::string::npos) return "";
    constexpr std::size_t indent = 12;
    const std::size_t room = look.columns - indent;
    const std::string shown = look.all ? command : cut_end(command, 2 * room - 10);
    const std::string lines = wrap_words(shown, look.columns, indent);
    const std::string note =
        command.find("***") == std::string::npos
            ? ""
            : std::string(indent, ' ') + "(*** is a password, token or key that lagtrapd masked)\n";
    return "  command   " + lines.substr(std::min(indent, lines.size())) + note;
}

std::string process_row(const trace::Delay& delay, std::size_t columns) {
    const std::string process =
        "  process   " + delay.process + " (" + std::to_string(delay.begin_pid) + ")";
    std::string thread;
    if (delay.in_go) thread += analysis::goroutine_words(delay) + ", begun by ";
    thread += "thread " + delay.thread + " (" + std::to_string(delay.begin_tid) + ")";
    if (delay.end_tid != delay.begin_tid && delay.end_tid != 0 && !delay.open)
        thread += ", ended by thread " + std::to_string(delay.end_tid);
    const bool fits = width_of(process) + 3 + width_of(thread) <= columns;
    return process + (fits ? "   " : "\n            ") + thread + "\n";
}

std::string program_row(const trace::Delay& delay, std::size_t columns) {
    if (delay.program.empty()) return "";
    constexpr std::size_t longest_version = 18;
    constexpr std::size_t longest_path = 48;
    const std::string label = "  program   ";
    const std::string version =
        delay.program_version.empty()
            ? ""
            : "  version " + cut_end(delay.program_version, longest_version);
    const std::size_t room = columns - std::min(columns, label.size() + width_of(version));
    return label + cut_middle(delay.program, std::min(longest_path, room)) + version + "\n";
}

// A control group is one word, a container has words for its id, name and image.
std::string unit_rows(const std::string& unit, std::size_t columns) {
    const std::string label = "  unit      ";
    const bool has_words = unit.find(' ') != std::string::npos;
    if (!has_words) return label + cut_middle(unit, columns - label.size()) + "\n";
    return label + wrap_words(unit, columns, label.size()).substr(label.size());
}

}  // namespace

std::string delay_headline(const trace::Delay& delay, std::size_t number, std::size_t count,
                           const ReportLook& look) {
    const std::string length = duration(delay.duration_ns);
    const std::string rest = std::string(delay.open ? " and had not ended" : "") +
                             "; its threshold is " + duration(delay.threshold_ns);
    const std::string which =
        count > 1 ? "  (delay " + std::to_string(number) + " of " + with_commas(count) + ")" : "";
    const bool fits = width_of(delay.event + " took " + length + rest + which) <= look.columns;
    return look.paint(Colour::Bold, delay.event) + (fits ? " took " : "\n  took ") +
           look.paint(Colour::Red, length) + rest +
           (which.empty() ? "" : look.paint(Colour::Dim, which)) + "\n";
}

std::string facts_part(const analysis::Recording& recording, const analysis::DelayReport& report,
                       const ReportLook& look) {
    const trace::Delay& delay = report.delay;
    // A delay may begin before the recording; unsigned arithmetic wraps around twice and is
    // correct.
    const std::uint64_t wall_clock_ns =
        recording.system.started_realtime_ns + (delay.begin_ns - recording.begin_ns);
    std::string text = process_row(delay, look.columns) + program_row(delay, look.columns);
    text += command_line_of(recording, delay, look);
    if (!delay.unit.empty()) text += unit_rows(delay.unit, look.columns);
    if (!delay.user.empty()) text += "  user      " + cut_end(delay.user, 48) + "\n";
    text += "  began     " + format_utc(wall_clock_ns) + " on " +
            cut_end(recording.system.host, 30) + "\n";
    if (delay.queued_ns > 0) {
        text +=
            "  queued    " + duration(delay.queued_ns) + " before the begin marker was reached\n";
    }
    if (const std::string note = analysis::open_delay_note(recording, delay); !note.empty()) {
        const std::size_t clause = note.find("; ");
        text += "  end       " + note.substr(0, clause == std::string::npos ? clause : clause + 1) +
                "\n";
        if (clause != std::string::npos) text += "            " + note.substr(clause + 2) + "\n";
    }
    if (const std::string request = analysis::published_words(report.causes.request);
        !request.empty())
        text += "  request   " + cut_end(request, look.columns - 12) + "\n";
    if (!delay.trace.trace_id.empty()) {
        text += "  trace     " + delay.trace.trace_id;
        text += delay.trace.parent_span_id.empty()
                    ? "\n"
                    : "  parent span " + delay.trace.parent_span_id + "\n";
    }
    if (!delay.no_trace.empty())
        text += "  trace     unknown: \"" + cut_end(delay.no_trace, 36) + "\" is not a trace ID\n";
    if (delay.without_stages)
        text += "  stages    incomplete: disabled for some time to save CPU time\n";
    return text;
}

}  // namespace lagtrap::cli
