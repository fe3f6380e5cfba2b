#include "cli/reports/report_quality.hpp"

#include <optional>

#include "analysis/delay_report.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/reports/loss_words.hpp"
#include "cli/reports/report_functions.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

// "complete stacks 99 % on CPU, 94 % waiting, of which 3 % by frame pointers".
std::string whole_stacks(const analysis::QualityReport& quality) {
    std::string text;
    const auto add = [&](const char* where, const std::optional<double>& share) {
        if (share)
            text += (text.empty() ? "complete stacks " : ", ") + percent(*share) + " " + where;
    };
    add("on CPU", quality.on_cpu_complete);
    add("waiting", quality.off_cpu_complete);
    if (text.empty()) return "complete stacks " + percent(quality.stacks_complete);
    if (quality.by_frame_pointers > 0)
        text += "; " + percent(quality.by_frame_pointers) + " of them by frame pointers";
    return text;
}

// What is known about the process with the delay, and the share of stacks walked late; empty if
// neither adds to the line above.
std::string late_row(const analysis::QualityReport& quality) {
    std::string text;
    if (quality.delayed_complete)
        text = "in delayed processes " + percent(*quality.delayed_complete);
    if (quality.late > 0)
        text += (text.empty() ? "" : "; ") + percent(quality.late) +
                " of the complete ones from copies";
    return text.empty() ? text : "  " + text + "\n";
}

// What stopped the incomplete stacks.
std::string stops_row(const analysis::QualityReport& quality) {
    std::string text;
    std::size_t shown = 0;
    for (const auto& stop : quality.stops) {
        if (shown++ == 3 || stop.share < 0.005) break;
        text += (text.empty() ? "  others: " : ", ") + percent(stop.share) + " ";
        const std::string reason = analysis::stop_reason_in_words(stop.reason);
        const std::string module = cut_middle(stop.module.substr(stop.module.rfind('/') + 1), 20);
        text += module.empty() ? reason : module + " (" + reason + ")";
    }
    return text.empty() ? text : cut_end(text, screen_width) + "\n";
}

std::string names_rows(const analysis::QualityReport& quality) {
    std::string text = "  named frames " + percent(quality.frames_named);
    if (quality.frames_located > 0)
        text += ", with source lines " + percent(quality.frames_located);
    text += "; recording cost " + percent(quality.own_cost) + " of the CPUs\n";
    std::string missing;
    const auto add = [&](std::uint64_t count, const char* what) {
        if (count > 0)
            missing += (missing.empty() ? "  without names: " : ", ") +
                       counted(count, "file", "files") + " " + what;
    };
    add(quality.naming.modules_gone, "not found");
    add(quality.naming.modules_damaged, "not readable");
    add(quality.naming.modules_left_out, "beyond the limits");
    return missing.empty() ? text : text + cut_end(missing, screen_width) + "\n";
}

}  // namespace

std::string quality_part(const analysis::Recording& recording, const Paint& paint) {
    const auto quality = analysis::report_quality(recording);
    std::string losses;
    for (const auto& loss : quality.lost) losses += (losses.empty() ? "" : ", ") + loss_words(loss);
    std::string text =
        section_title(paint, "The recording", "session " + recording.system.session_id);
    text += "  " + counted(quality.samples, "sample", "samples") +
            "; lost: " + (losses.empty() ? "nothing" : paint(Colour::Yellow, losses)) + "\n";
    text += "  " + whole_stacks(quality) + "\n" + late_row(quality) + stops_row(quality) +
            names_rows(quality);
    if (quality.partial)
        text += "  " + paint(Colour::Yellow, "It was cut short; its end is missing.") + "\n";
    for (const std::string& omitted : quality.omitted)
        text += "  " + paint(Colour::Yellow, "Incomplete: ") + printable(omitted) + ".\n";
    if (quality.truncated_by_size)
        text += "  " + paint(Colour::Yellow, "It ended early, at its size limit.") + "\n";
    return text;
}

}  // namespace lagtrap::cli
