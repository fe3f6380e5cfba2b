#include "server/api/pages.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/duration.hpp"
#include "core/text.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

// The page after this one, if there may be one.
std::optional<std::int64_t> next_page(const std::vector<BundleRow>& rows, std::uint32_t limit) {
    if (rows.empty() || rows.size() < limit) return std::nullopt;
    return rows.back().number;
}

json::object row_json(const BundleRow& row) {
    json::object object{{"number", row.number},
                        {"digest", row.digest},
                        {"bytes", row.bytes},
                        {"received", format_utc(row.received_realtime_ns)},
                        {"sender", row.sender}};
    if (!row.bad_reason.empty()) {
        object["bad"] = row.bad_reason;
        return object;
    }
    object["session"] = row.facts.session_id;
    object["host"] = row.facts.host;
    object["event"] = row.facts.event;
    object["process"] = row.facts.process;
    object["started"] = format_utc(row.facts.started_realtime_ns);
    object["delays"] = row.facts.delays;
    object["longest_delay_ns"] = row.facts.longest_delay_ns;
    return object;
}

std::string short_time(std::uint64_t realtime_ns) {
    std::string text = format_utc(realtime_ns).substr(0, 19);
    if (text.size() > 10) text[10] = ' ';
    return text;
}

std::string row_html(const BundleRow& row) {
    const std::string link = "/api/v1/bundles/" + row.digest;
    const std::string download = fmt::format("<a href=\"{}\" download>{}</a>", link, format_byte_size(row.bytes));
    if (!row.bad_reason.empty()) {
        return fmt::format("<tr class=\"bad\"><td>{}<td colspan=\"6\">can not be read: {}<td>{}<td>{}\n",
                           short_time(row.received_realtime_ns), escape_html(row.bad_reason), escape_html(row.sender),
                           download);
    }
    const BundleFacts& facts = row.facts;
    const std::string longest =
        facts.delays == 0
            ? ""
            : format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(facts.longest_delay_ns)));
    return fmt::format(
        "<tr><td>{}<td>{}<td>{}<td>{}<td class=\"number\">{}<td class=\"number\">{}"
        "<td><a href=\"{}/system\">{}</a><td>{}<td>{}\n",
        short_time(facts.started_realtime_ns), escape_html(facts.host), escape_html(facts.event),
        escape_html(facts.process), facts.delays, longest, link, escape_html(facts.session_id.substr(0, 8)),
        escape_html(row.sender), download);
}

}  // namespace

std::string escape_html(std::string_view text) {
    std::string escaped;
    escaped.reserve(text.size());
    for (const char letter : text) {
        switch (letter) {
            case '&': escaped += "&amp;"; break;
            case '<': escaped += "&lt;"; break;
            case '>': escaped += "&gt;"; break;
            case '"': escaped += "&quot;"; break;
            case '\'': escaped += "&#39;"; break;
            default: escaped += letter;
        }
    }
    return escaped;
}

std::string list_json(const std::vector<BundleRow>& rows, std::uint32_t limit) {
    json::array bundles;
    for (const BundleRow& row : rows) bundles.push_back(row_json(row));
    json::object page{{"bundles", std::move(bundles)}, {"next", nullptr}};
    if (const auto next = next_page(rows, limit)) page["next"] = *next;
    return json::serialize(page) + "\n";
}

std::string stored_json(const Stored& stored) {
    json::object object{{"digest", stored.digest},
                        {"bytes", stored.bytes},
                        {"stored", stored.outcome == AddOutcome::New ? "new" : "already"}};
    if (!stored.bad_reason.empty()) object["bad"] = stored.bad_reason;
    return json::serialize(object) + "\n";
}

std::string error_json(std::string_view message) {
    return json::serialize(json::object{{"error", printable(message)}}) + "\n";
}

std::string list_page(const std::vector<BundleRow>& rows, std::uint32_t limit, const Totals& totals) {
    std::string page =
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>Delays - lagtrap</title>\n"
        "<meta name=\"viewport\" content=\"width=device-width\"><link rel=\"stylesheet\" href=\"/style.css\"></head>\n"
        "<body>\n<h1>Delays</h1>\n";
    page +=
        fmt::format("<p>{} bundles with {} delays, {}", totals.bundles, totals.delays, format_byte_size(totals.bytes));
    page += totals.bad > 0 ? fmt::format("; {} can not be read.</p>\n", totals.bad) : ".</p>\n";
    if (rows.empty()) {
        page += "<p>Nothing here. Bundles come from lagtrap-uploader, once lagtrapd has seen a delay.</p>\n";
    } else {
        page +=
            "<table>\n<thead><tr><th>Recorded (UTC)<th>Host<th>Event<th>Process<th>Delays<th>Longest<th>System file"
            "<th>Sender<th>Bundle</thead>\n<tbody>\n";
        for (const BundleRow& row : rows) page += row_html(row);
        page += "</tbody></table>\n";
    }
    if (const auto next = next_page(rows, limit))
        page += fmt::format("<p><a href=\"/?limit={}&amp;before={}\">Older</a></p>\n", limit, *next);
    return page + "</body></html>\n";
}

std::string_view page_style() {
    return ":root{color-scheme:light dark}body{font:14px/1.4 system-ui,sans-serif;margin:1.5rem}"
           "h1{font-size:1.3rem}table{border-collapse:collapse}"
           "th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid #8884}"
           ".number{text-align:right;font-variant-numeric:tabular-nums}.bad{opacity:.7}\n";
}

}  // namespace lagtrap::server
