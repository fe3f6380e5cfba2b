#include "cli/reports/report_functions.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "analysis/block_reason.hpp"
#include "analysis/frame_role.hpp"
#include "analysis/function_name.hpp"
#include "analysis/parts.hpp"
#include "cli/console/ratio.hpp"
#include "cli/console/text_layout.hpp"
#include "core/duration.hpp"
#include "core/function_name.hpp"

namespace lagtrap::cli {

namespace {

using analysis::CallLine;
using analysis::DelayReport;
using analysis::FunctionTime;
using analysis::short_function_name;
using analysis::StackTime;

constexpr std::size_t state_width = 26;
constexpr std::size_t usual_lines = 12;
constexpr std::size_t own_lines = 5;

// "on CPU 60 %, sleep 30 %, otherwise blocked 9 %".
template <typename Time>
std::string state_of(const Time& time, std::uint64_t whole_ns) {
    std::string text;
    const auto add = [&](const std::string& what, std::uint64_t time_ns) {
        if (time_ns == 0 || time_ns * 100 < whole_ns) return;
        text += (text.empty() ? "" : ", ") + what + " " + percent(ratio(time_ns, whole_ns));
    };
    add("on CPU", time.on_cpu_ns);
    add(time.reason, time.reason_ns);
    add("otherwise blocked", time.blocked_ns - time.reason_ns);
    add("waiting", time.waiting_ns);
    return text;
}

// "planner.c:311"; empty if unknown.
std::string source_of(const std::string& path, std::uint32_t line) {
    if (path.empty()) return "";
    return cut_middle(path.substr(path.rfind('/') + 1), 24) +
           (line > 0 ? ":" + std::to_string(line) : "");
}

// " (libcrypto)" for a function in a library, unless the line above it names the library; otherwise
// "".
std::string library_note(const CallLine& line, const std::string& module_above) {
    if (line.place.module == module_above || line.place.function.starts_with('[')) return "";
    const std::string_view module = analysis::module_name(line.place.module);
    const bool library =
        module.starts_with("lib") && line.place.module.find(".so") != std::string::npos;
    return library ? " (" + std::string(module) + ")" : "";
}

// The functions of a line in at most `room` characters, the last one with `note`. Cuts template
// arguments first, then namespaces.
std::string names_of(const CallLine& line, const std::string& note, std::size_t room) {
    const bool nameless = line.place.function.starts_with('[');  // "[redis-server]"
    std::vector<std::string> names;
    for (const std::string& function : line.functions)
        names.push_back(short_function_name(function));
    names.back() = nameless ? line.place.function + " without names"
                            : short_function_name(line.place.function);
    const auto joined = [&](const auto& shorter, std::size_t width) {
        std::vector<std::string> cut;
        cut.reserve(names.size());
        for (const std::string& name : names)
            cut.push_back(nameless && &name == &names.back() ? name : shorter(name));
        cut.back() += note;
        return join_path(cut, width);
    };
    constexpr std::size_t no_limit = 10'000;
    const auto whole = [](const std::string& name) { return name; };
    const auto plain = [](const std::string& name) { return without_template_arguments(name); };
    const auto of_class = [](const std::string& name) { return last_components(name, 2); };
    if (std::string text = joined(whole, no_limit); width_of(text) <= room) return text;
    if (std::string text = joined(plain, no_limit); width_of(text) <= room) return text;
    return joined(of_class, room);
}

// "in libc: pthread_mutex_lock; without names 12 %": what the line's own time went to.
std::string note_of(const CallLine& line, std::uint64_t whole_ns) {
    std::string note;
    if (!line.place.called.empty() && line.called_ns * 20 >= whole_ns) {
        const std::string_view module = analysis::module_name(line.place.called_module);
        note = "in " + std::string(module) + ": " + short_function_name(line.place.called);
        if (line.called_ns * 10 < line.total_ns() * 9)
            note += " " + percent(ratio(line.called_ns, whole_ns));
    }
    const bool reported = line.place.function.starts_with('[');
    if (!reported && line.nameless_ns * 20 >= whole_ns) {
        note += (note.empty() ? "" : "; ") + std::string("without names ") +
                percent(ratio(line.nameless_ns, whole_ns));
    }
    return note;
}

// `module_above` is the file of the caller's line; empty for the outermost line.
std::string call_row(const CallLine& line, const std::string& module_above, std::uint64_t whole_ns,
                     std::size_t indent, const ReportLook& look) {
    const std::string library = library_note(line, module_above);
    const std::size_t depth = std::min<std::size_t>(line.depth, 16);
    const std::size_t begin = indent + 7 + depth;
    const std::size_t room = look.columns - begin - state_width - 2;
    const std::string note = note_of(line, whole_ns);
    const std::string source = source_of(line.place.source, line.place.line);
    std::string text =
        std::string(indent, ' ') + pad_left(percent(ratio(line.total_ns(), whole_ns)), 5) + "  ";
    text += std::string(depth, ' ');
    std::string below = note;
    if (look.all) {
        const std::string path = wrap_words(names_of(line, library, 10'000), look.columns, begin);
        text += path.substr(std::min(begin, path.size()));
        below = state_of(line, whole_ns) + (note.empty() ? "" : "; " + note) +
                (source.empty() ? "" : "  " + source);
        return text + wrap_words(below, look.columns, begin + 2);
    }
    const std::string names = names_of(line, library, room);
    if (!source.empty() && width_of(names) + width_of(source) + 2 <= room) {
        text +=
            pad_right(names, room - width_of(source) - 2) + "  " + look.paint(Colour::Dim, source);
    } else {
        text += pad_right(names, room);
        if (!source.empty()) below = source + (note.empty() ? "" : ", " + note);
    }
    const std::string state = state_of(line, whole_ns);
    const std::size_t room_below = look.columns - begin - 2;
    std::vector<std::string> lines_below{below};
    if (width_of(state) <= state_width)
        text += "  " + state;
    else if (below.empty() || width_of(state) + width_of(below) + 2 <= room_below)
        lines_below = {state + (below.empty() ? "" : "; " + below)};
    else
        lines_below = {state, below};
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
    for (const std::string& line_below : lines_below)
        if (!line_below.empty())
            text += std::string(begin + 2, ' ') +
                    look.paint(Colour::Dim, cut_end(line_below, room_below)) + "\n";
    return text;
}

// The calls with most time. They form a tree too, since a caller has at least as much time as its
// callees.
std::vector<const CallLine*> longest(const std::vector<CallLine>& calls, std::size_t limit,
                                     std::uint64_t min_ns) {
    std::vector<const CallLine*> chosen;
    for (const CallLine& line : calls) {
        if (line.total_ns() >= min_ns) chosen.push_back(&line);
    }
    if (chosen.size() <= limit) return chosen;
    std::stable_sort(chosen.begin(), chosen.end(), [](const CallLine* a, const CallLine* b) {
        return a->total_ns() > b->total_ns();
    });
    chosen.resize(limit);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

// Functions with much own time that are not at the end of a line of the tree, because they are
// called from many places.
std::string own_rows(const DelayReport& report, const std::vector<const CallLine*>& shown,
                     const ReportLook& look) {
    const std::uint64_t whole_ns = report.split.recorded_ns();
    std::set<std::string> reported;
    for (const CallLine* line : shown) reported.insert(line->place.function);
    std::string rows;
    std::size_t count = 0;
    std::string module_above;
    for (const CallLine& line : report.innermost) {
        if (line.own_ns * 20 < whole_ns || count == own_lines) break;
        if (!look.all && reported.contains(line.place.function)) continue;
        rows += call_row(line, std::exchange(module_above, line.place.module), whole_ns, 2, look);
        ++count;
    }
    return rows.empty()
               ? ""
               : look.paint(Colour::Dim, "  by themselves, wherever they were called from") + "\n" +
                     rows;
}

// What the kernel itself did. Waits have their reasons above.
std::string kernel_rows(const DelayReport& report, const ReportLook& look) {
    const std::uint64_t whole_ns = report.split.recorded_ns();
    std::string rows;
    std::size_t count = 0;
    for (const FunctionTime& function : report.kernel_functions) {
        if (function.on_cpu_ns * 20 < whole_ns || (count == 3 && !look.all)) continue;
        ++count;
        const std::size_t room = look.columns - 9 - state_width - 2;
        rows += "  " + pad_left(percent(ratio(function.total_ns(), whole_ns)), 5) + "  " +
                pad_right(function.name, room) + "  " +
                cut_end(state_of(function, whole_ns), state_width) + "\n";
    }
    return rows.empty() ? "" : look.paint(Colour::Dim, "  in the kernel") + "\n" + rows;
}

}  // namespace

std::string section_title(const Paint& paint, const std::string& text, const std::string& note) {
    std::string line = "\n" + paint(Colour::Bold, text);
    if (!note.empty()) line += paint(Colour::Dim, "  " + note);
    return line + "\n";
}

std::string call_rows(const std::vector<CallLine>& calls, std::uint64_t whole_ns, std::size_t limit,
                      std::size_t indent, const ReportLook& look) {
    std::string rows;
    std::vector<std::string> modules;  // files of the callers of the next line, outermost first
    for (const CallLine* line : longest(calls, limit, look.all ? 1 : whole_ns / 50)) {
        modules.resize(line->depth);
        rows += call_row(*line, modules.empty() ? "" : modules.back(), whole_ns, indent, look);
        modules.push_back(line->place.module);
    }
    return rows;
}

namespace {

std::string receiver_functions(const analysis::ReceiverReport& receiver, const ReportLook& look) {
    const std::uint64_t whole_ns = receiver.split.recorded_ns();
    const std::size_t limit = look.all ? receiver.calls.size() : usual_lines;
    const std::string rows = call_rows(receiver.calls, whole_ns, limit, 2, look);
    return section_title(look.paint, "Functions",
                         "of " + receiver.thread + " (" + std::to_string(receiver.tid) +
                             "), which ended it, in that time") +
           (rows.empty() ? "  no stacks of programs\n" : rows);
}

}  // namespace

std::string functions_part(const DelayReport& report, const ReportLook& look) {
    const std::uint64_t whole_ns = report.split.recorded_ns();
    if (whole_ns == 0 && report.receiver.tid != 0) return receiver_functions(report.receiver, look);
    if (whole_ns == 0)
        return section_title(look.paint, "Functions") + "  nothing of this delay was recorded\n";
    const bool whole =
        report.split.not_recorded_ns == 0 && analysis::is_nearly(whole_ns, report.split.wall_ns);
    const std::string recorded = duration(whole_ns);
    std::string text = section_title(look.paint, "Functions",
                                     "with what they call; shares of the " +
                                         (whole ? std::string("delay") : recorded + " recorded"));
    const std::size_t limit = look.all ? report.calls.size() : usual_lines;
    const std::string rows = call_rows(report.calls, whole_ns, limit, 2, look);
    text += rows.empty() ? "  no stacks of programs\n" : rows;
    text += own_rows(report, longest(report.calls, limit, look.all ? 1 : whole_ns / 50), look);
    return text + kernel_rows(report, look);
}

std::string stacks_part(const DelayReport& report, const ReportLook& look) {
    std::string text;
    std::size_t shown = 0;
    for (const StackTime& stack : report.stacks) {
        if (shown++ == 20) break;
        std::vector<std::string> path;
        for (std::size_t i = 0; i < stack.frames.size(); ++i) {
            const bool kernel = i >= stack.kernel_from;
            path.push_back(kernel ? stack.frames[i] : short_function_name(stack.frames[i]));
        }
        const std::string lines = wrap_words(join_path(path, 100'000), look.columns, 9);
        if (lines.empty()) continue;
        text +=
            "  " + pad_left(percent(report.share(stack.total_ns())), 5) + "  " + lines.substr(9);
    }
    return text.empty() ? "" : section_title(look.paint, "Stacks", "innermost last") + text;
}

}  // namespace lagtrap::cli
