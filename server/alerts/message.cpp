#include "server/alerts/message.hpp"

#include <charconv>
#include <ctime>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "core/clock.hpp"
#include "server/alerts/base64.hpp"
#include "server/alerts/conditions.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

json::value digits_or_null(std::uint64_t time_ns) {
    if (time_ns == 0) return nullptr;
    return json::string(std::to_string(time_ns));
}

json::value text_or_null(const std::string& text) {
    if (text.empty()) return nullptr;
    return json::string(text);
}

std::string text_of(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                  : std::string();
}

std::uint64_t time_of(const json::object& object, std::string_view name) {
    const std::string digits = text_of(object, name);
    std::uint64_t time_ns = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), time_ns);
    return time_ns;
}

json::object finding_json(const ReportedFinding& finding) {
    return {{"subject", finding.subject},
            {"title", finding.title},
            {"event", text_or_null(finding.event)},
            {"host", text_or_null(finding.host)},
            {"cause", text_or_null(finding.cause)},
            {"link", text_or_null(finding.link)},
            {"found_ns", digits_or_null(finding.found_realtime_ns)},
            {"ended_ns", digits_or_null(finding.ended_realtime_ns)}};
}

json::object message_json(const Message& message) {
    json::array findings;
    for (const ReportedFinding& finding : message.findings)
        findings.push_back(finding_json(finding));
    return {{"rule", {{"id", std::to_string(message.rule_id)}, {"name", message.rule}}},
            {"condition", name_of(message.condition)},
            {"test", message.test},
            {"at_ns", std::to_string(message.at_realtime_ns)},
            {"headline", message.headline()},
            {"findings", std::move(findings)},
            {"left_out", message.left_out}};
}

std::string line_of(const ReportedFinding& finding) {
    if (finding.ended_realtime_ns == 0) return finding.title;
    return "Over since " + utc_minute(finding.ended_realtime_ns) + " UTC: " + finding.title;
}

// Escapes what Slack reads as markup.
std::string slack_text(std::string_view text) {
    std::string escaped;
    for (const char letter : text) {
        if (letter == '&')
            escaped += "&amp;";
        else if (letter == '<')
            escaped += "&lt;";
        else if (letter == '>')
            escaped += "&gt;";
        else
            escaped += letter;
    }
    return escaped;
}

std::string alert_name(const Message& message) {
    if (message.test) return "LagtrapTest";
    switch (message.condition) {
        case Condition::NewCause: return "LagtrapNewCause";
        case Condition::CauseCameBack: return "LagtrapCauseCameBack";
        case Condition::P99: return "LagtrapP99";
        case Condition::DelayShare: return "LagtrapDelayShare";
        case Condition::HostSilent: return "LagtrapHostSilent";
        case Condition::RunsLost: return "LagtrapRunsLost";
        case Condition::GotWorse: return "LagtrapGotWorse";
        case Condition::WeeklyDigest: return "LagtrapWeeklyDigest";
    }
    return "Lagtrap";
}

// Encoded words of RFC 2047, in pieces of at most 39 bytes that do not split a character.
std::string header_text(const std::string& text) {
    const bool plain = std::all_of(text.begin(), text.end(),
                                   [](char letter) { return letter >= ' ' && letter < 127; });
    if (plain && text.find("=?") == std::string::npos && text.size() < 900) return text;
    constexpr std::size_t piece_bytes = 39;
    std::string encoded;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = std::min(at + piece_bytes, text.size());
        while (end < text.size() && end > at + 1 &&
               (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
            --end;
        encoded += (encoded.empty() ? "=?UTF-8?B?" : "\r\n =?UTF-8?B?") +
                   base64(text.substr(at, end - at)) + "?=";
        at = end;
    }
    return encoded;
}

std::string mail_date(std::uint64_t realtime_ns) {
    static constexpr std::string_view days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static constexpr std::string_view months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000ULL);
    std::tm utc{};
    ::gmtime_r(&seconds, &utc);
    return fmt::format("{}, {} {} {} {:02}:{:02}:{:02} +0000", days[utc.tm_wday], utc.tm_mday,
                       months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string mail_body(const Message& message) {
    std::string text;
    for (const ReportedFinding& finding : message.findings) {
        text += line_of(finding) + "\r\n";
        if (!finding.link.empty()) text += finding.link + "\r\n";
        text += "\r\n";
    }
    if (message.left_out > 0) text += fmt::format("and {} more\r\n\r\n", message.left_out);
    return text + fmt::format("Rule \"{}\" of lagtrap-server\r\n", message.rule);
}

}  // namespace

std::string Message::headline() const {
    const std::uint64_t count = findings.size() + left_out;
    if (count == 0) return fmt::format("The rule {} found nothing.", rule);
    if (count == 1 || condition == Condition::WeeklyDigest) return line_of(findings.front());
    return fmt::format("{} findings of the rule {}; the first: {}", count, rule,
                       line_of(findings.front()));
}

std::string Message::json_text() const { return json::serialize(message_json(*this)); }

Result<Message> Message::parse(const std::string& text) {
    json::error_code error;
    const json::value value = json::parse(text, error);
    const json::object* object = error ? nullptr : value.if_object();
    const json::value* rule = object == nullptr ? nullptr : object->if_contains("rule");
    const json::value* findings = object == nullptr ? nullptr : object->if_contains("findings");
    if (rule == nullptr || !rule->is_object() || findings == nullptr || !findings->is_array())
        return make_error(ErrorKind::Invalid, "the stored message is damaged");
    Message message;
    message.rule = text_of(rule->get_object(), "name");
    message.rule_id = time_of(rule->get_object(), "id");
    for (const Condition condition :
         {Condition::NewCause, Condition::CauseCameBack, Condition::P99, Condition::DelayShare,
          Condition::HostSilent, Condition::RunsLost, Condition::GotWorse, Condition::WeeklyDigest})
        if (name_of(condition) == text_of(*object, "condition")) message.condition = condition;
    const json::value* test = object->if_contains("test");
    message.test = test != nullptr && test->is_bool() && test->get_bool();
    message.at_realtime_ns = time_of(*object, "at_ns");
    for (const json::value& entry : findings->get_array()) {
        if (!entry.is_object()) continue;
        const json::object& found = entry.get_object();
        message.findings.push_back({text_of(found, "subject"), text_of(found, "title"),
                                    text_of(found, "event"), text_of(found, "host"),
                                    text_of(found, "cause"), text_of(found, "link"),
                                    time_of(found, "found_ns"), time_of(found, "ended_ns")});
    }
    const json::value* left_out = object->if_contains("left_out");
    if (left_out != nullptr && left_out->is_number())
        message.left_out = left_out->to_number<std::uint64_t>(error);
    return message;
}

Message message_of(const StoredRule& stored, const Rule& rule, const std::vector<KeptFinding>& news,
                   std::uint64_t left_out, std::uint64_t at_realtime_ns,
                   const std::string& public_url) {
    Message message{stored.name, stored.id, rule.condition, false, at_realtime_ns, {}, left_out};
    for (const KeptFinding& kept : news) {
        const Facts facts = Facts::parse(kept.finding.facts);
        const auto link = [&](const std::string& path) {
            return public_url.empty() ? "" : public_url + path;
        };
        message.findings.push_back({kept.finding.subject, facts.title, facts.event, facts.host,
                                    facts.cause, link(facts.path), kept.found_realtime_ns,
                                    kept.ended_realtime_ns});
        for (const FactLine& line : facts.lines)
            message.findings.push_back({kept.finding.subject, line.title, line.event, "",
                                        line.cause, link(line.path), kept.found_realtime_ns,
                                        kept.ended_realtime_ns});
    }
    return message;
}

Message test_message_of(const StoredRule& stored, const Rule& rule, std::uint64_t at_realtime_ns,
                        const std::string& public_url) {
    Message message{stored.name, stored.id, rule.condition, true, at_realtime_ns, {}, 0};
    ReportedFinding finding;
    finding.subject = "test";
    finding.title = fmt::format("This is a test of the rule {}. It found nothing.", stored.name);
    finding.link = public_url.empty() ? "" : public_url + "/rules";
    finding.found_realtime_ns = at_realtime_ns;
    message.findings.push_back(std::move(finding));
    return message;
}

std::string webhook_body(const std::string& id, const Message& message) {
    json::object body{{"id", id}};
    for (auto& [name, value] : message_json(message)) body[name] = value;
    return json::serialize(body);
}

std::string slack_body(const Message& message) {
    std::string text = fmt::format("*{}*", slack_text(message.rule));
    for (const ReportedFinding& finding : message.findings) {
        text += "\n\u2022 " + slack_text(line_of(finding));
        if (!finding.link.empty()) text += " <" + slack_text(finding.link) + "|open>";
    }
    if (message.left_out > 0) text += fmt::format("\nand {} more", message.left_out);
    return json::serialize(json::object{{"text", text}});
}

std::string alertmanager_body(const Message& message, std::uint64_t until_realtime_ns) {
    json::array alerts;
    for (const ReportedFinding& finding : message.findings) {
        json::object labels{{"alertname", alert_name(message)}, {"rule", message.rule}};
        for (const auto& [name, text] :
             {std::pair("event", &finding.event), std::pair("host", &finding.host),
              std::pair("cause", &finding.cause)})
            if (!text->empty()) labels[name] = *text;
        const std::uint64_t ends_ns =
            finding.ended_realtime_ns > 0 ? finding.ended_realtime_ns : until_realtime_ns;
        json::object alert{{"labels", std::move(labels)},
                           {"annotations", {{"summary", finding.title}}},
                           {"startsAt", format_utc(finding.found_realtime_ns)},
                           {"endsAt", format_utc(ends_ns)}};
        if (!finding.link.empty()) alert["generatorURL"] = finding.link;
        alerts.push_back(std::move(alert));
    }
    return json::serialize(alerts);
}

std::string mail_text(const std::string& id, const Message& message, const Rule& rule) {
    std::string mail;
    mail += "From: lagtrap <" + rule.from + ">\r\n";
    mail += "To: " + fmt::format("{}", fmt::join(rule.to, ",\r\n ")) + "\r\n";
    mail += "Subject: " + header_text("[lagtrap] " + message.headline()) + "\r\n";
    mail += "Date: " + mail_date(message.at_realtime_ns) + "\r\n";
    mail += "Message-ID: <" + id + rule.from.substr(rule.from.find('@')) + ">\r\n";
    mail += "Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n";
    mail += "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n";
    const std::string encoded = base64(mail_body(message));
    constexpr std::size_t line_letters = 76;
    for (std::size_t at = 0; at < encoded.size(); at += line_letters)
        mail += encoded.substr(at, line_letters) + "\r\n";
    return mail;
}

}  // namespace lagtrap::server
