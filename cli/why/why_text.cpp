#include "cli/why/why_text.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "analysis/function_name.hpp"
#include "analysis/parts.hpp"
#include "cli/console/ratio.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/why/losses.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

using analysis::ProcessRuns;
using analysis::Recording;
using analysis::ThreadRun;

constexpr std::size_t runs_shown = 5;
constexpr std::size_t idle_shown = 4;  // groups named in the line about idle threads

// "worker (4711)", or only the number if the name is unknown.
std::string name_of(const std::string& thread, std::uint32_t tid) {
    if (thread.empty()) return std::to_string(tid);
    return printable(cut_end(thread, 30)) + " (" + std::to_string(tid) + ")";
}

// Names the process too, unless there is only one.
std::string who_words(const ThreadRun& run, bool one_process) {
    const trace::Delay& delay = run.delay;
    std::string first = name_of(delay.thread, delay.begin_tid);
    const bool is_main = delay.begin_tid == delay.begin_pid;
    if (!one_process && !is_main) first += " of " + name_of(delay.process, delay.begin_pid);
    if (run.others.empty()) return (!one_process && is_main ? "" : "thread ") + first;
    return with_commas(run.others.size() + 1) + " threads such as " + first;
}

std::string state_words(const Recording& recording, const ThreadRun& run, const WhyLook& look) {
    const analysis::TimeSplit& split = run.split;
    std::string text;
    const auto add = [&](std::uint64_t time_ns, const char* words) {
        if (time_ns * 200 < split.wall_ns || time_ns == 0) return;
        text += (text.empty() ? "" : ", ") + std::string(words) + " " +
                percent(ratio(time_ns, split.wall_ns));
    };
    if (split.blocked_ns == split.wall_ns) {
        const auto before = look.stopped_before_ns.find(run.delay.begin_tid);
        const std::uint64_t length_ns = recording.end_ns - recording.begin_ns;
        if (before == look.stopped_before_ns.end()) return "blocked since before the recording";
        return "blocked for about " + duration(before->second + length_ns);
    }
    add(split.on_cpu_ns, "on CPU");
    add(split.runnable_ns, "waiting for a CPU");
    add(split.blocked_ns, "blocked");
    add(split.not_recorded_ns, "unknown");
    return text;
}

std::string indented(const std::string& text, const WhyLook& look) {
    return wrap_words(printable(text), look.columns, 2);
}

// The stack that accounts for most of the time, if one does.
std::string stack_row(const ThreadRun& run, const WhyLook& look) {
    if (run.stacks.empty()) return "";
    const analysis::StackTime& stack = run.stacks.front();
    if (!analysis::is_most(stack.total_ns(), run.split.wall_ns)) return "";
    std::vector<std::string> frames(
        stack.frames.begin(), stack.frames.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                         stack.kernel_from, stack.frames.size())));
    if (frames.size() < 2) return "";
    for (std::string& frame : frames) frame = printable(frame);
    constexpr std::string_view label = "  stack: ";
    return std::string(label) + join_path(frames, look.columns - label.size()) + "\n";
}

std::string run_part(const Recording& recording, const ThreadRun& run, bool one_process,
                     const WhyLook& look) {
    const std::string who = who_words(run, one_process);
    std::string text =
        "\n" + look.paint(Colour::Bold, who) + ": " + state_words(recording, run, look) + "\n";
    const auto sentences = analysis::cause_sentences(run.causes);
    if (sentences.empty()) text += "  What it did was not recorded.\n";
    for (const std::string& sentence : sentences) text += indented(sentence, look);
    if (const auto file = look.files.find(run.delay.begin_tid);
        run.split.blocked_ns == run.split.wall_ns && file != look.files.end())
        text += indented("It uses " + file->second + ".", look);
    if (look.all) text += look.paint(Colour::Dim, stack_row(run, look));
    if (look.all && !run.others.empty()) {
        std::string others;
        for (const auto& other : run.others)
            others += (others.empty() ? "" : ", ") + name_of(other.thread, other.tid);
        text += indented("The same: " + others + ".", look);
    }
    return text;
}

// What idle threads that are shown as one have in common.
using Idling = std::tuple<analysis::WaitKind, std::string, std::string>;

struct IdleThreads {
    const ThreadRun* first = nullptr;
    std::size_t count = 0;
};

Idling idling_of(const ThreadRun& run) {
    const analysis::ThreadDoing& doing = run.causes.causes.front().doing;
    return {doing.wait, doing.reason, doing.focus.place.function};
}

// "8 for a signal in take_job".
std::string idle_words(const IdleThreads& threads) {
    std::string text = with_commas(threads.count) + " ";
    const analysis::ThreadDoing& doing = threads.first->causes.causes.front().doing;
    text += doing.wait == analysis::WaitKind::Sleep ? "for a timer"
                                                    : words_of_wait(doing.wait, doing.reason);
    const std::string& function = doing.focus.place.function;
    if (!function.empty() && !function.starts_with('['))
        text += " in " + cut_end(printable(analysis::short_function_name(function)), 40);
    return text;
}

std::string idle_part(const std::vector<const ThreadRun*>& idle, const WhyLook& look) {
    if (idle.empty()) return "";
    std::size_t threads = 0;
    std::vector<IdleThreads> kinds;
    std::map<Idling, std::size_t> known;
    for (const ThreadRun* run : idle) {
        const auto [place, is_new] = known.try_emplace(idling_of(*run), kinds.size());
        if (is_new) kinds.push_back({run, 0});
        kinds[place->second].count += run->others.size() + 1;
        threads += run->others.size() + 1;
    }
    std::string list;
    for (std::size_t i = 0; i < kinds.size() && (i < idle_shown || look.all); ++i)
        list += (i == 0 ? "" : ", ") + idle_words(kinds[i]);
    if (kinds.size() > idle_shown && !look.all) list += ", and others";
    return "\n" + wrap_words(fmt::format("{} for work: {}.",
                                         threads == 1 ? "1 more thread waits"
                                                      : with_commas(threads) + " more threads wait",
                                         list),
                             look.columns, 0);
}

std::string length_words(const Recording& recording, const ProcessRuns& process) {
    return counted(process.threads, "thread", "threads") + ", over " +
           duration(recording.end_ns - recording.begin_ns) + "\n";
}

std::string title_of_process(const Recording& recording, std::uint32_t pid,
                             const ProcessRuns& process, const WhyLook& look) {
    const std::string& name = recording.process_name(pid);
    std::string text = look.paint(Colour::Bold, (name.empty() ? "process" : printable(name)) +
                                                    " (" + std::to_string(pid) + ")") +
                       ", " + length_words(recording, process);
    const auto known = recording.processes.find(pid);
    if (known == recording.processes.end() ||
        known->second.command_line.find(' ') == std::string::npos)
        return text;
    return text +
           look.paint(Colour::Dim,
                      "  " + cut_end(printable(known->second.command_line), look.columns - 2)) +
           "\n";
}

std::string title(const Recording& recording, const WhyTarget& target, const ProcessRuns& process,
                  const WhyLook& look) {
    if (target.name.empty())
        return title_of_process(recording, *target.pids.begin(), process, look);
    std::size_t processes = 0;
    for (const std::uint32_t pid : target.pids)
        processes += recording.processes.contains(pid) ? 1 : 0;
    return look.paint(Colour::Bold, cut_end(printable(target.name), 40)) + ", " +
           counted(processes, "process", "processes") + ", " + length_words(recording, process);
}

}  // namespace

std::string why_text(const Recording& recording, const WhyTarget& target, const WhyLook& look) {
    const ProcessRuns process = analysis::runs_of_processes(recording, target.pids);
    std::string text = title(recording, target, process, look);
    std::size_t shown = 0, left_out = process.left_out;
    std::vector<const ThreadRun*> idle;
    for (const ThreadRun& run : process.runs) {
        if (run.waits_for_work && shown > 0 && !look.all) {
            idle.push_back(&run);
        } else if (look.all || shown < runs_shown) {
            ++shown;
            text += run_part(recording, run, target.name.empty(), look);
        } else {
            left_out += run.others.size() + 1;
        }
    }
    if (left_out > 0)
        text += "\n" + counted(left_out, "more thread", "more threads") + "; --all shows all.\n";
    text += idle_part(idle, look);
    if (!process.runs.empty() && process.runs.front().waits_for_work)
        text +=
            "\n" +
            wrap_words(
                "No thread works: there was nothing to do, or one of these waits is for an answer.",
                look.columns, 0);
    return text + losses_part(recording, look.columns);
}

}  // namespace lagtrap::cli
