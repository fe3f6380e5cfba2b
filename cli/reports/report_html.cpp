#include "cli/reports/report_html.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "analysis/function_name.hpp"
#include "cli/console/ratio.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "core/clock.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace json = boost::json;

constexpr double min_share_shown = 0.005;
constexpr std::size_t calls_in_page = 30;
constexpr std::size_t delays_in_page = 500;

// The policy forbids scripts and all loading, should a name ever escape its place.
constexpr std::string_view head =
    R"(<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root { color-scheme: light dark; --line: #8884; --cpu: #2a8a4a; --wait: #b07a00;
    --blocked: #c0392b; --other: #777; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
.cause { font-size: 1.15rem; margin: .6rem 0; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; }
td, th { padding: .15rem .8rem .15rem 0; vertical-align: top; overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; }
.name { white-space: nowrap; max-width: 16rem; overflow: hidden; text-overflow: ellipsis; }
.bar { width: 40%; }
.bar div { height: 1rem; min-width: 1px; border-radius: 2px; background: var(--other); }
.bar .cpu { background: var(--cpu); } .bar .wait { background: var(--wait); }
.bar .blocked { background: var(--blocked); }
.small { color: var(--other); }
code, pre { font-family: ui-monospace, monospace; font-size: .9rem; }
pre { overflow-x: auto; }
</style>
)";

std::string section(std::string_view title, const std::string& content) {
    return content.empty() ? "" : "<h2>" + escape_html(title) + "</h2>\n" + content;
}

std::string fact(std::string_view name, const std::string& value) {
    if (value.empty()) return "";
    return "<tr><th scope=\"row\">" + escape_html(name) + "</th><td>" + escape_html(value) +
           "</td></tr>\n";
}

std::string facts_of(const json::object& report, const json::object& delay) {
    const auto id = [&](const char* name, const char* number_name) {
        return text(delay, name) + " (" + std::to_string(number(delay, number_name)) + ")";
    };
    const std::uint64_t began_ns =
        number(report, "started_realtime_ns") +
        (number(delay, "begin_boottime_ns") - number(report, "started_boottime_ns"));
    return "<table>\n" +
           fact("process", id("process", "begin_pid") + ", thread " + id("thread", "begin_tid")) +
           fact("program", text(delay, "program")) +
           fact("version", text(delay, "program_version")) +
           fact("command", text(delay, "command_line")) + fact("unit", text(delay, "unit")) +
           fact("user", text(delay, "user")) +
           fact("began", format_utc(began_ns) + " on " + text(report, "host")) +
           fact("end", text(delay, "open_note")) +
           fact("request", text(part(delay, "request"), "route")) +
           fact("trace", text(delay, "trace_id")) + fact("session", text(report, "session")) +
           "</table>\n";
}

std::string sentences_of(const json::object& delay) {
    std::string paragraphs;
    for (const json::value& sentence : list(part(delay, "cause"), "sentences"))
        if (sentence.is_string())
            paragraphs += "<p class=\"cause\">" +
                          escape_html(std::string_view(sentence.get_string())) + "</p>\n";
    return paragraphs;
}

std::string bar_row(const std::string& name, std::uint64_t time_ns, double share, double offset,
                    const char* kind) {
    const double width = std::clamp(share, 0.0, 1.0) * 100;
    const double left = std::clamp(offset, 0.0, 1.0) * 100;
    return fmt::format(
        "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"bar\">"
        "<div class=\"{}\" style=\"width:{:.1f}%;margin-left:{:.1f}%\"></div></td></tr>\n",
        escape_html(name), escape_html(duration(time_ns)), escape_html(percent(share)), kind,
        std::min(width, 100 - left), left);
}

std::string split_of(const json::object& delay) {
    const json::object& split = part(delay, "split");
    const std::uint64_t wall_ns = number(split, "wall_ns");
    std::string rows;
    const auto add = [&](const std::string& name, std::uint64_t time_ns, const char* kind) {
        if (time_ns > 0) rows += bar_row(name, time_ns, ratio(time_ns, wall_ns), 0, kind);
    };
    add("on a CPU", number(split, "on_cpu_ns"), "cpu");
    add("waiting for a CPU", number(split, "runnable_ns"), "wait");
    for (const json::value& blocked : list(split, "blocked"))
        if (blocked.is_object())
            add("blocked: " + text(blocked.get_object(), "reason"),
                number(blocked.get_object(), "total_ns"), "blocked");
    add("handed over between threads", number(split, "between_threads_ns"), "other");
    add("in a goroutine, no thread", number(split, "in_goroutine_ns"), "other");
    add("unknown: not recorded", number(split, "not_recorded_ns"), "other");
    return rows.empty() ? "" : "<table>\n" + rows + "</table>\n";
}

std::string stages_of(const json::object& delay) {
    const std::uint64_t wall_ns = number(part(delay, "split"), "wall_ns");
    std::string rows;
    for (const json::value& one : list(delay, "stages")) {
        if (!one.is_object()) continue;
        const json::object& stage = one.get_object();
        const std::string name = text(stage, "name");
        const std::uint64_t length_ns = number(stage, "duration_ns");
        rows +=
            bar_row(name.empty() ? "(before the first)" : name, length_ns,
                    ratio(length_ns, wall_ns), ratio(number(stage, "offset_ns"), wall_ns), "other");
    }
    return rows.empty() ? "" : "<table>\n" + rows + "</table>\n";
}

std::string path_of(const json::object& call) {
    std::string path;
    for (const json::value& function : list(call, "functions"))
        if (function.is_string())
            path +=
                (path.empty() ? "" : " › ") +
                printable(analysis::short_function_name(std::string_view(function.get_string())));
    return path;
}

std::string calls_of(const json::object& delay) {
    std::string rows;
    std::size_t shown = 0;
    for (const json::value& one : list(delay, "calls")) {
        if (!one.is_object() || real(one.get_object(), "share") < min_share_shown) continue;
        if (++shown > calls_in_page) break;
        const json::object& call = one.get_object();
        const std::string source = text(call, "source");
        rows += fmt::format(
            "<tr><td class=\"number\">{}</td><td style=\"padding-left:{}ch\"><code>{}</code> <span "
            "class=\"small\">{}</span></td><td>{}</td></tr>\n",
            escape_html(percent(real(call, "share"))),
            std::min<std::uint64_t>(number(call, "depth"), 40), escape_html(path_of(call)),
            source.empty() ? "" : escape_html(source + ":" + std::to_string(number(call, "line"))),
            escape_html(text(call, "reason")));
    }
    if (rows.empty()) return "";
    return "<table>\n<tr><th class=\"number\">share</th><th>functions</th><th>blocked</th></tr>\n" +
           rows + "</table>\n";
}

// The delays of several recordings, before the report of one of them.
std::string list_of(const DelayList& list) {
    if (list.files.size() < 2) return "";
    std::string rows;
    for (const CauseCount& count : count_causes(list))
        rows += "<tr><td class=\"number\">" + with_commas(count.delays) + "</td><td>" +
                escape_html(count.cause) + "</td></tr>\n";
    std::string delays;
    for (std::size_t i = 0; i < std::min(list.delays.size(), delays_in_page); ++i) {
        const DelaySummary& delay = list.delays[i];
        delays += "<tr><td class=\"number\">" +
                  escape_html(format_utc(delay.began_realtime_ns).substr(0, 19)) +
                  "</td><td class=\"name\">" + escape_html(delay.event) +
                  "</td><td class=\"number\">" + escape_html(duration(delay.duration_ns)) +
                  "</td><td>" + escape_html(delay.sentence) + "</td></tr>\n";
    }
    std::string text = "<h1>" + counted(list.delays.size() + list.delays_left, "delay", "delays") +
                       " in " + counted(list.files.size(), "recording", "recordings") + "</h1>\n" +
                       section("Causes", rows.empty() ? "" : "<table>\n" + rows + "</table>\n") +
                       section("Delays", delays.empty() ? "" : "<table>\n" + delays + "</table>\n");
    for (const DelayList::Failure& failure : list.unreadable)
        text += "<p>Not read: " + escape_html(failure.file) + ": " + escape_html(failure.reason) +
                "</p>\n";
    return text;
}

std::string title_of(const json::object& report, const json::object& delay) {
    if (delay.empty()) return "Recording of " + text(report, "host");
    return text(delay, "event") + " took " + duration(number(delay, "duration_ns")) +
           (truth(delay, "open") ? " and had not ended" : "");
}

}  // namespace

std::string escape_html(std::string_view text) {
    std::string escaped;
    for (const char c : printable(text)) {
        switch (c) {
            case '&': escaped += "&amp;"; break;
            case '<': escaped += "&lt;"; break;
            case '>': escaped += "&gt;"; break;
            case '"': escaped += "&quot;"; break;
            case '\'': escaped += "&#39;"; break;
            default: escaped += c;
        }
    }
    return escaped;
}

std::string report_html(const json::object& report, const std::string& whole_text,
                        const DelayList& list) {
    static const json::object none;
    const json::array& delays = cli::list(report, "delays");
    const json::object& delay =
        !delays.empty() && delays.front().is_object() ? delays.front().get_object() : none;
    const std::string title = title_of(report, delay);
    std::string lines;
    for (std::size_t at = 0; at < whole_text.size();) {
        const std::size_t end = std::min(whole_text.find('\n', at), whole_text.size());
        lines += escape_html(std::string_view(whole_text).substr(at, end - at)) + "\n";
        at = end + 1;
    }
    std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n" + std::string(head) +
                       "<title>" + escape_html(title) + "</title>\n</head>\n<body>\n" +
                       list_of(list) + "<h1>" + escape_html(title) + "</h1>\n";
    if (!delay.empty())
        page += "<p class=\"small\">Its threshold is " +
                escape_html(duration(number(delay, "threshold_ns"))) + ".</p>\n" +
                section("Cause", sentences_of(delay)) +
                section("Where the time went", split_of(delay)) +
                section("Stages", stages_of(delay)) + section("Functions", calls_of(delay)) +
                section("Where and when", facts_of(report, delay));
    return page +
           "<h2>The whole report</h2>\n<details><summary>As lagtrap prints it</summary>\n<pre>" +
           lines +
           "</pre></details>\n<p class=\"small\">Made by lagtrap " LAGTRAP_VERSION
           ".</p>\n</body>\n</html>\n";
}

}  // namespace lagtrap::cli
