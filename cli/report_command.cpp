#include <boost/json.hpp>

#include "analysis/recording.hpp"
#include "cli/bundles/bundle_finder.hpp"
#include "cli/bundles/confined_decoding.hpp"
#include "cli/commands.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/reports/delay_list.hpp"
#include "cli/reports/report_functions.hpp"
#include "cli/reports/report_html.hpp"
#include "cli/reports/report_json.hpp"
#include "cli/reports/report_text.hpp"
#include "core/files.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::size_t recordings_read = 200;  // at most, without --all
constexpr std::size_t many_recordings = 10;   // reading them takes a noticeable time

// What the page is made of. The process that reads the recording cannot be trusted to escape it.
Result<std::string> parts_of_page(const analysis::Recording& recording,
                                  std::optional<std::size_t> delay) {
    const std::size_t number = delay.value_or(default_delay(recording));
    const bool has_delays = !recording.system.delays.empty();
    constexpr std::size_t page_columns = 100;
    const std::string text =
        report_text(recording, has_delays ? std::optional(number) : std::nullopt,
                    {Paint(false), page_columns, true});
    return json::serialize(
        json::object{{"report", report_json(recording, number)}, {"text", text}});
}

Result<std::string> report_of(const analysis::Recording& recording,
                              std::optional<std::size_t> delay, const ReportOptions& options,
                              const Console& console) {
    const std::size_t delays = recording.system.delays.size();
    if (delay && (*delay == 0 || *delay > delays))
        return make_error(ErrorKind::Invalid, "there is no delay " + std::to_string(*delay) +
                                                  "; the recording has " + std::to_string(delays));
    if (!options.html.empty()) return parts_of_page(recording, delay);
    if (options.json) return json::serialize(report_json(recording, delay)) + "\n";
    return report_text(recording, delay, {console.paint, console.columns, options.all});
}

Result<std::string> report_of_file(const fs::path& path, std::optional<std::size_t> delay,
                                   const ReportOptions& options, const Console& console) {
    return decode_confined(path, [&](const fs::path& opened) -> Result<std::string> {
        TRY_ASSIGN(const auto recording, analysis::read_recording(opened));
        return report_of(recording, delay, options, console);
    });
}

DelayList list_delays(const std::vector<fs::path>& paths, bool all) {
    DelayList list;
    for (const fs::path& path : paths) {
        if (list.files.size() + list.unreadable.size() == recordings_read && !all) {
            list.recordings_left = paths.size() - recordings_read;
            break;
        }
        const auto summary =
            decode_confined(path, [](const fs::path& opened) -> Result<std::string> {
                TRY_ASSIGN(const auto recording, analysis::read_recording(opened));
                return summarize_delays(recording);
            });
        const Status added =
            summary ? add_summary(*summary, path.string(), list) : Status(summary.error());
        if (!added) list.unreadable.push_back({path.string(), added.error().message});
    }
    sort_newest_first(list);
    return list;
}

// Index of the delay to show in full; nullopt if there is none.
Result<std::optional<std::size_t>> choose_delay(const DelayList& list,
                                                const ReportOptions& options) {
    if (options.delay && (*options.delay == 0 || *options.delay > list.delays.size()))
        return make_error(ErrorKind::Invalid,
                          "there is no delay " + std::to_string(*options.delay) +
                              "; the list has " + std::to_string(list.delays.size()));
    if (options.delay) return std::optional(*options.delay - 1);
    if (options.slowest) return slowest_delay(list);
    return list.delays.empty() ? std::nullopt : std::optional<std::size_t>(0);
}

// As JSON, the report is the member "report" of the list.
std::string list_and_report(const DelayList& list, const std::string& report,
                            const ReportOptions& options, const Console& console) {
    if (!options.json) {
        std::string text = delay_list_text(list, {console.paint, console.columns, options.all});
        if (report.empty()) return text;
        return text +
               section_title(console.paint,
                             options.slowest ? "The longest delay" : "The newest delay") +
               report;
    }
    json::object whole = delay_list_json(list);
    boost::system::error_code wrong;
    json::value parsed = json::parse(report, wrong);
    whole["report"] = wrong ? json::value(nullptr) : std::move(parsed);
    return json::serialize(whole) + "\n";
}

Result<std::vector<fs::path>> recordings_of(const ReportOptions& options) {
    if (!options.bundles.empty()) return find_bundles(options.bundles, options.spool);
    TRY_ASSIGN(const fs::path newest, find_bundle("", options.spool));
    if (options.slowest) return bundles_of_spool(options.spool);
    return std::vector<fs::path>{newest};
}

Status write_page(const std::string& file, const std::string& parts, const DelayList& list) {
    boost::system::error_code wrong;
    const json::value parsed = json::parse(parts.empty() ? "{}" : parts, wrong);
    if (wrong || !parsed.is_object())
        return make_error(ErrorKind::Invalid, "the recording cannot be shown as a page");
    const json::object& made = parsed.get_object();
    const json::value* const text = made.if_contains("text");
    const std::string whole_text =
        text != nullptr && text->is_string() ? std::string(text->get_string()) : "";
    return write_file_durably(file, report_html(part(made, "report"), whole_text, list));
}

int report_of_several(const std::vector<fs::path>& paths, const ReportOptions& options,
                      Console& console) {
    if (console.terminal && paths.size() > many_recordings)
        console.err << "Reading " << counted(paths.size(), "recording", "recordings") << " ...\n"
                    << std::flush;
    const DelayList list = list_delays(paths, options.all);
    const auto chosen = choose_delay(list, options);
    if (!chosen) return console.fail(chosen.error().message);
    std::string report;
    if (*chosen) {
        const DelaySummary& delay = list.delays[**chosen];
        const auto made =
            report_of_file(list.files[delay.recording], delay.number, options, console);
        if (!made) return console.fail(list.files[delay.recording] + ": " + made.error().message);
        report = *made;
    }
    if (!options.html.empty()) {
        const Status written = write_page(options.html, report, options.delay ? DelayList() : list);
        if (!written) return console.fail(written.error().message);
        return list.unreadable.empty() ? exit_done : exit_failed;
    }
    console.out << (options.delay ? report : list_and_report(list, report, options, console));
    return list.unreadable.empty() ? exit_done : exit_failed;
}

}  // namespace

int show_report(const ReportOptions& options, Console& console) {
    const auto paths = recordings_of(options);
    if (!paths) return console.fail(paths.error().message);
    if (paths->size() > 1) return report_of_several(*paths, options, console);
    const auto text = report_of_file(paths->front(), options.delay, options, console);
    if (!text) return console.fail(text.error().message);
    if (!options.html.empty()) {
        const Status written = write_page(options.html, *text, {});
        return written ? exit_done : console.fail(written.error().message);
    }
    console.out << *text;
    return exit_done;
}

}  // namespace lagtrap::cli
