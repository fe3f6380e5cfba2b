#include "cli/reports/report_text.hpp"

#include <algorithm>
#include <chrono>

#include "analysis/meanwhile.hpp"
#include "analysis/wake_cause.hpp"
#include "cli/console/ratio.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/reports/report_before.hpp"
#include "cli/reports/report_calls.hpp"
#include "cli/reports/report_facts.hpp"
#include "cli/reports/report_functions.hpp"
#include "cli/reports/report_objects.hpp"
#include "cli/reports/report_quality.hpp"
#include "cli/reports/report_traced.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {

namespace {

using analysis::DelayReport;
using analysis::Recording;
using analysis::TimeSplit;
using analysis::WakerReport;

constexpr std::size_t bar_width = 34;

std::string stages_part(const DelayReport& report, const Paint& paint) {
    if (report.stages.empty()) return "";
    std::string text = section_title(paint, "Stages");
    const std::uint64_t whole_ns = report.split.wall_ns;
    std::size_t left_out = 0;
    std::size_t shown = 0;
    for (const auto& stage : report.stages) {
        if (stage.name.empty() && stage.duration_ns * 200 < whole_ns) continue;
        if (++shown > 8) {
            ++left_out;
            continue;
        }
        const double share = ratio(stage.duration_ns, whole_ns);
        text += "  " + pad_right(stage.name.empty() ? "(before the first)" : stage.name, 18) +
                pad_left(duration(stage.duration_ns), 10) + pad_left(percent(share), 7) + "  |" +
                paint(Colour::Blue, stretch(ratio(stage.offset_ns, whole_ns), share, bar_width)) +
                "|\n";
    }
    if (left_out > 0) text += "  and " + counted(left_out, "more", "more") + "\n";
    return text;
}

struct SplitRow {
    std::string name;
    std::uint64_t time_ns;
    Colour colour;
};

std::string split_rows(const std::vector<SplitRow>& rows, std::uint64_t whole_ns,
                       const Paint& paint) {
    constexpr std::size_t usual_width = 28, max_width = 48;
    std::size_t width = usual_width;
    for (const SplitRow& row : rows) width = std::clamp(width_of(row.name), width, max_width);
    const std::size_t bars = bar_width - 3 - (width - usual_width);
    std::string text;
    for (const SplitRow& row : rows) {
        const double share = ratio(row.time_ns, whole_ns);
        text += "  " + pad_right(row.name, width) + pad_left(duration(row.time_ns), 10) +
                pad_left(percent(share), 7);
        if (share > 0) text += "  " + paint(row.colour, bar(share, bars));
        text += "\n";
    }
    return text;
}

// A run in a queue is on no thread that could be blocked.
std::string blocked_label(const analysis::BlockedTime& blocked) {
    return blocked.in_queue ? blocked.reason : "blocked: " + blocked.reason;
}

std::string split_part(const DelayReport& report, const Paint& paint) {
    const TimeSplit& split = report.split;
    const std::uint64_t whole_ns = split.wall_ns;
    std::vector<SplitRow> rows{{"on a CPU", split.on_cpu_ns, Colour::Green},
                               {"waiting for a CPU", split.runnable_ns, Colour::Yellow}};
    const auto add_some = [&rows](const char* name, std::uint64_t time_ns, Colour colour) {
        if (time_ns > 0) rows.push_back({name, time_ns, colour});
    };
    add_some("  by its group's CPU quota", split.throttled_ns, Colour::Yellow);
    if (split.blocked.empty()) rows.push_back({"blocked", split.blocked_ns, Colour::Red});
    std::uint64_t others_ns = 0;
    for (std::size_t i = 0; i < split.blocked.size(); ++i) {
        const auto& blocked = split.blocked[i];
        if (i < 4) {
            rows.push_back({blocked_label(blocked), blocked.total_ns, Colour::Red});
        } else {
            others_ns += blocked.total_ns;
        }
    }
    const std::uint64_t lost_ns =
        split.not_recorded_ns - split.outside_ns - split.between_threads_ns - split.in_goroutine_ns;
    add_some("blocked: other reasons", others_ns, Colour::Red);
    add_some("unknown: before recording", split.outside_ns, Colour::Dim);
    add_some("handed over between threads", split.between_threads_ns, Colour::Dim);
    add_some("in a goroutine, no thread", split.in_goroutine_ns, Colour::Dim);
    add_some("unknown: not recorded", lost_ns, Colour::Dim);
    std::string text = section_title(
        paint, "Where the time went",
        split.from_samples ? "scheduling was not recorded: estimated from samples" : "");
    text += split_rows(rows, whole_ns, paint);
    if (const std::uint64_t counted_ns = split.counted.total_ns(); counted_ns * 100 > whole_ns)
        text += "  " + duration(counted_ns) +
                " of this passed before the recording began: counted, without stacks\n";
    return text;
}

std::string waker_rows(const DelayReport& report, const WakerReport& waker,
                       const ReportLook& look) {
    std::string text = "  " + pad_left(percent(report.share_of_known(waker.blocked_ns)), 5) + "  ";
    const std::size_t room = look.columns - 9;
    if (waker.interrupt)
        return text + cut_end(analysis::to_text(waker) + ": " + waker.reason, room) + "\n";
    const std::string waits = counted(waker.count, "wait", "waits") + ": " + waker.reason;
    const std::string who = (waker.thread.empty() ? std::string("thread") : waker.thread) + " (" +
                            std::to_string(waker.tid) + " of " +
                            (waker.process.empty() ? std::to_string(waker.pid) : waker.process) +
                            ")";
    text += cut_end(who + ", " + waits, room) + "\n";
    const std::uint64_t whole_ns = waker.blocked_ns;
    if (waker.split.recorded_ns() == 0)
        return text + "         what it did meanwhile was not recorded: no stack\n";
    std::vector<std::string> meanwhile{"meanwhile on a CPU " +
                                       percent(ratio(waker.split.on_cpu_ns, whole_ns))};
    if (waker.split.runnable_ns > 0)
        meanwhile.push_back("waiting for a CPU " +
                            percent(ratio(waker.split.runnable_ns, whole_ns)));
    if (waker.split.blocked_ns > 0) {
        const auto& blocked = waker.split.blocked;
        meanwhile.push_back("blocked " + percent(ratio(waker.split.blocked_ns, whole_ns)) +
                            (blocked.empty() ? "" : ": " + blocked.front().reason));
    }
    if (waker.split.outside_ns > 0)
        meanwhile.push_back("not recorded " + percent(ratio(waker.split.outside_ns, whole_ns)));
    text += wrap_list(meanwhile, look.columns, 9);
    return text + call_rows(waker.calls, whole_ns, look.all ? waker.calls.size() : 3, 9, look);
}

std::string wakers_part(const DelayReport& report, const ReportLook& look) {
    std::string text;
    std::size_t shown = 0;
    for (const WakerReport& waker : report.wakers) {
        if (!look.all && (report.share_of_known(waker.blocked_ns) < 0.02 || shown++ == 2)) break;
        text += waker_rows(report, waker, look);
    }
    return text.empty() ? "" : section_title(look.paint, "Woken by") + text;
}

std::string causes_part(const DelayReport& report, const ReportLook& look) {
    std::string text;
    for (const std::string& sentence : analysis::cause_sentences(report.causes))
        text += wrap_words(printable(sentence), look.columns, 2);
    return text.empty() ? "" : section_title(look.paint, "Cause") + text;
}

std::string meanwhile_part(const Recording& recording, const trace::Delay& delay,
                           const ReportLook& look) {
    const analysis::Meanwhile meanwhile = analysis::meanwhile_of(recording, delay);
    std::string text;
    std::size_t shown = 0;
    std::uint64_t left_out = meanwhile.left_out;
    for (const auto& beginning : meanwhile.beginnings) {
        if (!look.all && shown == 6) {
            ++left_out;
            continue;
        }
        ++shown;
        const bool before = beginning.offset_ns < 0;
        const auto distance_ns =
            static_cast<std::uint64_t>(before ? -beginning.offset_ns : beginning.offset_ns);
        const std::string name = beginning.process.empty() ? "process" : beginning.process;
        std::string what = name + " (" + std::to_string(beginning.pid) + ")";
        if (beginning.delay_number > 0) {
            const trace::Delay& other = recording.system.delays[beginning.delay_number - 1];
            what = "delay " + std::to_string(beginning.delay_number) + ": " + other.event + " of " +
                   what + ", " + duration(other.duration_ns);
        } else {
            what += " was started";
            if (beginning.command_line.find(' ') != std::string::npos)
                what += ": " + beginning.command_line;
        }
        text += "  " + pad_left((before ? "-" : "+") + duration(distance_ns), 10) + "  " +
                cut_end(what, look.columns - 14) + "\n";
    }
    if (left_out > 0) text += "  and " + counted(left_out, "more", "more") + "\n";
    return text.empty()
               ? ""
               : section_title(look.paint, "Began around then", "times after the delay's begin") +
                     text;
}

std::string machine_part(const Recording& recording, const ReportLook& look) {
    const Paint& paint = look.paint;
    const auto machine = analysis::report_machine(recording);
    std::string text =
        section_title(paint, "The machine",
                      "over " + duration(machine.length_ns) + " and " +
                          counted(machine.cpu_count, "CPU", "CPUs") + ", idle " +
                          percent(std::max(0.0, 1 - machine.share(machine.busy_ns))));
    std::size_t shown = 0;
    for (const auto& process : machine.processes) {
        const double share = machine.share(process.cpu_ns);
        if (!look.all && (shown == 4 || share < 0.005)) break;
        ++shown;
        const std::string name = process.name.empty() ? "unknown" : process.name;
        const std::string& unit = recording.unit_of(process.pid);
        std::string who = cut_end(name, 40);
        if (process.pid != 0)
            who += " (" + std::to_string(process.pid) +
                   (unit.empty() ? "" : ", " + cut_end(unit, 30)) + ")";
        text += "  " + pad_left(percent(share), 5) + "  " + cut_end(who, look.columns - 9) + "\n";
    }
    return text;
}

std::string others_part(const Recording& recording, std::size_t chosen, const Paint& paint) {
    const auto& delays = recording.system.delays;
    if (delays.size() < 2) return "";
    constexpr std::size_t limit = 5;
    std::string text =
        section_title(paint, "Other delays of this recording", "--delay NUMBER shows one in full");
    std::size_t shown = 0;
    for (std::size_t i = 0; i < delays.size(); ++i) {
        if (i + 1 == chosen) continue;
        if (shown++ == limit) break;
        const auto& delay = delays[i];
        const TimeSplit split =
            analysis::split_time(recording, analysis::intervals_of_delay(recording, delay));
        std::string most = "on a CPU";
        std::uint64_t max_ns = split.on_cpu_ns;
        const auto consider = [&](const std::string& what, std::uint64_t time_ns) {
            if (time_ns > max_ns) {
                most = what;
                max_ns = time_ns;
            }
        };
        consider("waiting for a CPU", split.runnable_ns);
        if (!split.blocked.empty())
            consider(split.blocked.front().reason, split.blocked.front().total_ns);
        consider("not recorded", split.not_recorded_ns);
        text += "  " + pad_left(std::to_string(i + 1), 5) + "  " + pad_right(delay.event, 14) +
                pad_left(duration(delay.duration_ns), 10) + "  " +
                pad_right(delay.process + " (" + std::to_string(delay.begin_pid) + ")", 22) + "  " +
                cut_end(percent(ratio(max_ns, split.wall_ns)) + " " + most, 21) + "\n";
    }
    if (delays.size() - 1 > limit)
        text += "  and " + with_commas(delays.size() - 1 - limit) + " more\n";
    return text;
}

}  // namespace

// A short delay that only triggered the recording has little to show.
std::size_t default_delay(const Recording& recording) {
    std::size_t best = 1;
    std::uint64_t best_ns = 0;
    for (std::size_t i = 0; i < recording.system.delays.size(); ++i) {
        const auto& delay = recording.system.delays[i];
        const std::uint64_t begin_ns = std::max(delay.begin_ns, recording.begin_ns);
        const std::uint64_t end_ns = std::min(analysis::end_of(delay), recording.end_ns);
        if (end_ns > begin_ns && end_ns - begin_ns > best_ns) {
            best = i + 1;
            best_ns = end_ns - begin_ns;
        }
    }
    return best;
}

std::string report_text(const Recording& recording, std::optional<std::size_t> number,
                        const ReportLook& look) {
    const Paint& paint = look.paint;
    const auto& delays = recording.system.delays;
    std::string text;
    if (delays.empty()) {
        text = "No run of this recording was longer than its threshold (started by: " +
               recording.system.trigger_reason + " " + recording.system.trigger_event + ").\n";
    } else {
        const std::size_t chosen = number.value_or(default_delay(recording));
        const DelayReport report = analysis::report_delay(recording, delays.at(chosen - 1));
        text = delay_headline(report.delay, chosen, delays.size(), look) +
               facts_part(recording, report, look);
        text += causes_part(report, look) + stages_part(report, paint) + split_part(report, paint);
        text += functions_part(report, look) + calls_part(recording, report.delay, look) +
                traced_part(recording, report.delay, look) +
                objects_part(recording, report.delay, look);
        if (look.all) text += stacks_part(report, look);
        text += wakers_part(report, look) +
                before_part(recording, report.delay, paint, look.all, look.columns);
        text += meanwhile_part(recording, report.delay, look);
        text += others_part(recording, chosen, paint);
    }
    return text + machine_part(recording, look) + quality_part(recording, paint);
}

std::string report_beginning(const Recording& recording, const ReportLook& look) {
    if (recording.system.delays.empty()) return report_text(recording, std::nullopt, look);
    const std::size_t chosen = default_delay(recording);
    const DelayReport report =
        analysis::report_delay(recording, recording.system.delays.at(chosen - 1));
    return delay_headline(report.delay, chosen, recording.system.delays.size(), look) +
           facts_part(recording, report, look) + causes_part(report, look) +
           split_part(report, look.paint);
}

}  // namespace lagtrap::cli
