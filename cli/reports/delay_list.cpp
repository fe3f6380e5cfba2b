#include "cli/reports/delay_list.hpp"

#include <algorithm>
#include <map>

#include <boost/json.hpp>

#include "analysis/delay_cause.hpp"
#include "analysis/short_cause.hpp"
#include "cli/console/name_column.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/reports/report_functions.hpp"
#include "core/clock.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t delays_of_recording = 200;
constexpr std::size_t delays_shown = 20;
constexpr std::size_t causes_shown = 8;

// A delay may begin before the recording; unsigned arithmetic wraps around twice and is correct.
std::uint64_t realtime_of(const analysis::Recording& recording, const trace::Delay& delay) {
    return recording.system.started_realtime_ns + (delay.begin_ns - recording.begin_ns);
}

json::object summary_of(const analysis::Recording& recording, std::size_t index) {
    const trace::Delay& delay = recording.system.delays[index];
    const analysis::DelayCauses causes = analysis::causes_of_delay(recording, delay);
    const auto sentences = analysis::cause_sentences(causes);
    return {{"number", index + 1},
            {"event", delay.event},
            {"process", delay.process},
            {"pid", delay.begin_pid},
            {"began_realtime_ns", realtime_of(recording, delay)},
            {"duration_ns", delay.duration_ns},
            {"open", delay.open},
            {"cause", analysis::short_cause(causes)},
            {"sentence", sentences.empty() ? std::string() : sentences.front()}};
}

// "2026-11-21 04:33:09" of "2026-11-21T04:33:09.143456Z".
std::string moment(std::uint64_t realtime_ns) {
    const std::string text = format_utc(realtime_ns);
    const std::size_t time = text.find('T');
    return time == std::string::npos ? text : text.substr(0, time) + " " + text.substr(time + 1, 8);
}

std::string list_headline(const DelayList& list, const Paint& paint) {
    std::string text =
        paint(Colour::Bold, counted(list.delays.size() + list.delays_left, "delay", "delays") +
                                " in " + counted(list.files.size(), "recording", "recordings"));
    if (list.delays.empty()) return text + "\n";
    const std::string first = moment(list.delays.back().began_realtime_ns);
    std::string last = moment(list.delays.front().began_realtime_ns);
    if (first == last) return text + ", " + first + " UTC\n";
    const std::string day = first.substr(0, first.find(' ') + 1);
    if (last.starts_with(day)) last.erase(0, day.size());
    return text + ", " + first + " to " + last + " UTC\n";
}

// A long cause continues on further lines, so that nothing of it is cut off.
std::string counted_causes(const DelayList& list, const ReportLook& look) {
    const auto causes = count_causes(list);
    if (causes.empty()) return "";
    constexpr std::size_t indent = 9;
    std::string text =
        section_title(look.paint, "Causes", "delays with each as their longest part");
    std::size_t shown = 0;
    for (const CauseCount& count : causes) {
        if (shown++ == causes_shown && !look.all) break;
        const std::string lines = wrap_words(printable(count.cause), look.columns, indent);
        text += "  " + pad_left(with_commas(count.delays), 5) + "  " +
                lines.substr(std::min(indent, lines.size()));
    }
    if (causes.size() > causes_shown && !look.all)
        text += "  and " + with_commas(causes.size() - causes_shown) + " more\n";
    return text;
}

// The time of day, and the date above the first delay of each day.
std::string delay_rows(const DelayList& list, const ReportLook& look) {
    std::vector<std::string> events;
    for (const DelaySummary& delay : list.delays) events.push_back(printable(delay.event));
    const NameColumn names(events, 5, look.all ? 64 : usual_name_width);
    std::string text, day;
    for (std::size_t i = 0; i < list.delays.size() && (i < delays_shown || look.all); ++i) {
        const DelaySummary& delay = list.delays[i];
        const std::string when = moment(delay.began_realtime_ns);
        const std::string date = when.substr(0, when.find(' '));
        if (date != day) text += "  " + look.paint(Colour::Dim, date) + "\n";
        day = date;
        const std::string row = pad_left(std::to_string(i + 1), 4) + "  " +
                                when.substr(when.find(' ') + 1) + "  " + names.cell(events[i]) +
                                pad_left(duration(delay.duration_ns), 9) + "  ";
        const std::size_t used = width_of(row) + 2;
        const std::size_t room = look.columns > used + 10 ? look.columns - used : 10;
        const std::string cause = printable(delay.cause);
        text += "  " + row + (look.all ? cause : cut_end(cause, room)) + "\n";
    }
    return text;
}

std::string failures_part(const DelayList& list, const ReportLook& look) {
    std::string text;
    for (const DelayList::Failure& failure : list.unreadable) {
        const bool named = failure.reason.find(failure.file.substr(failure.file.rfind('/') + 1)) !=
                           std::string::npos;
        text += wrap_words("Not read: " + (named ? "" : printable(failure.file) + ": ") +
                               printable(failure.reason),
                           look.columns, 0);
    }
    if (list.recordings_left > 0)
        text += counted(list.recordings_left, "older recording was", "older recordings were") +
                " not read.\n";
    return text.empty() ? "" : "\n" + text;
}

json::object row_json(const DelayList& list, std::size_t index) {
    const DelaySummary& delay = list.delays[index];
    return {{"number", index + 1},
            {"file", list.files[delay.recording]},
            {"session", delay.session},
            {"number_in_recording", delay.number},
            {"event", delay.event},
            {"process", delay.process},
            {"pid", delay.pid},
            {"began", format_utc(delay.began_realtime_ns)},
            {"began_realtime_ns", delay.began_realtime_ns},
            {"duration_ns", delay.duration_ns},
            {"open", delay.open},
            {"cause", delay.cause},
            {"sentence", delay.sentence}};
}

}  // namespace

std::vector<CauseCount> count_causes(const DelayList& list) {
    std::map<std::string, CauseCount> counts;
    for (const DelaySummary& delay : list.delays) {
        CauseCount& count = counts[delay.cause];
        count.cause = delay.cause;
        ++count.delays;
        count.total_ns += delay.duration_ns;
    }
    std::vector<CauseCount> sorted;
    for (auto& [cause, count] : counts) sorted.push_back(std::move(count));
    std::stable_sort(sorted.begin(), sorted.end(), [](const CauseCount& a, const CauseCount& b) {
        return a.delays != b.delays ? a.delays > b.delays : a.total_ns > b.total_ns;
    });
    return sorted;
}

std::string summarize_delays(const analysis::Recording& recording) {
    const auto& delays = recording.system.delays;
    std::vector<std::size_t> longest(delays.size());
    for (std::size_t i = 0; i < delays.size(); ++i) longest[i] = i;
    std::stable_sort(longest.begin(), longest.end(), [&](std::size_t a, std::size_t b) {
        return delays[a].duration_ns > delays[b].duration_ns;
    });
    if (longest.size() > delays_of_recording) longest.resize(delays_of_recording);
    json::array summaries;
    for (const std::size_t index : longest) summaries.push_back(summary_of(recording, index));
    return json::serialize(json::object{{"session", recording.system.session_id},
                                        {"left_out", delays.size() - longest.size()},
                                        {"delays", std::move(summaries)}});
}

Status add_summary(const std::string& summary, const std::string& file, DelayList& list) {
    boost::system::error_code wrong;
    const json::value parsed = json::parse(summary, wrong);
    if (wrong || !parsed.is_object())
        return make_error(ErrorKind::Invalid, "its delays cannot be listed");
    const json::object& of_file = parsed.get_object();
    list.delays_left += number(of_file, "left_out");
    for (const json::value& one : cli::list(of_file, "delays")) {
        if (!one.is_object()) continue;
        const json::object& delay = one.get_object();
        list.delays.push_back({.recording = list.files.size(),
                               .number = number(delay, "number"),
                               .session = text(of_file, "session"),
                               .event = text(delay, "event"),
                               .process = text(delay, "process"),
                               .pid = number(delay, "pid"),
                               .began_realtime_ns = number(delay, "began_realtime_ns"),
                               .duration_ns = number(delay, "duration_ns"),
                               .open = truth(delay, "open"),
                               .cause = text(delay, "cause"),
                               .sentence = text(delay, "sentence")});
    }
    list.files.push_back(file);
    return success();
}

void sort_newest_first(DelayList& list) {
    std::stable_sort(list.delays.begin(), list.delays.end(),
                     [](const DelaySummary& a, const DelaySummary& b) {
                         return a.began_realtime_ns > b.began_realtime_ns;
                     });
}

std::optional<std::size_t> slowest_delay(const DelayList& list) {
    if (list.delays.empty()) return std::nullopt;
    const auto longest = std::max_element(
        list.delays.begin(), list.delays.end(),
        [](const DelaySummary& a, const DelaySummary& b) { return a.duration_ns < b.duration_ns; });
    return static_cast<std::size_t>(longest - list.delays.begin());
}

std::string causes_and_delays(const DelayList& list, const ReportLook& look,
                              const std::string& note, const std::string& hint) {
    if (list.delays.empty()) return "";
    const std::string text = counted_causes(list, look) +
                             section_title(look.paint, "Delays", note) + delay_rows(list, look);
    if (list.delays.size() <= delays_shown || look.all) return text;
    return text + "  and " + with_commas(list.delays.size() - delays_shown) + " more" + hint + "\n";
}

std::string delay_list_text(const DelayList& list, const ReportLook& look) {
    std::string text =
        list_headline(list, look.paint) +
        causes_and_delays(list, look, "newest first; --delay NUMBER shows one in full",
                          "; --all shows all");
    if (!list.delays.empty() && list.delays_left > 0)
        text += "  and " + counted(list.delays_left, "shorter one", "shorter ones") +
                " of recordings with more than " + std::to_string(delays_of_recording) +
                " delays\n";
    return text + failures_part(list, look);
}

json::object delay_list_json(const DelayList& list) {
    json::array delays, causes, failures;
    for (std::size_t i = 0; i < list.delays.size(); ++i) delays.push_back(row_json(list, i));
    for (const CauseCount& count : count_causes(list))
        causes.push_back(json::object{
            {"cause", count.cause}, {"delays", count.delays}, {"total_ns", count.total_ns}});
    for (const DelayList::Failure& failure : list.unreadable)
        failures.push_back(json::object{{"file", failure.file}, {"reason", failure.reason}});
    return {{"recordings", list.files.size()},     {"recordings_left_out", list.recordings_left},
            {"delays_left_out", list.delays_left}, {"unreadable", std::move(failures)},
            {"causes", std::move(causes)},         {"delays", std::move(delays)}};
}

}  // namespace lagtrap::cli
