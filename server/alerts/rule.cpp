#include "server/alerts/rule.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "core/text.hpp"
#include "server/alerts/time_zone.hpp"

namespace lagtrap::server {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 8> condition_names{
    "new_cause",   "cause_came_back", "p99",       "delay_share",
    "host_silent", "runs_lost",       "got_worse", "weekly_digest"};
constexpr std::array<std::string_view, 4> way_names{"webhook", "email", "slack", "alertmanager"};

constexpr std::uint64_t minute_ns = 60ULL * 1'000'000'000ULL;
constexpr std::uint64_t day_ns = 1440 * minute_ns;
constexpr std::size_t name_limit_bytes = 256;
constexpr std::size_t address_limit_bytes = 500;
constexpr std::size_t mailbox_limit_bytes = 254;
constexpr std::size_t mailboxes_limit = 20;

// Members, and the conditions or ways that they apply to.
struct Member {
    std::string_view name;
    std::string_view goes_with;
};
constexpr std::array members{
    Member{"event", "new_cause cause_came_back p99 delay_share got_worse weekly_digest"},
    Member{"host", "host_silent runs_lost"},
    Member{"over_ns", "p99"},
    Member{"over_share", "delay_share"},
    Member{"factor", "p99 delay_share"},
    Member{"hours", "p99 delay_share runs_lost"},
    Member{"least_runs", "p99 delay_share"},
    Member{"silent_ns", "host_silent"},
    Member{"over_runs", "runs_lost"},
    Member{"from", "email"},
    Member{"to", "email"},
    Member{"user", "email alertmanager"},
    // Alertmanager has its own quiet hours and repetition.
    Member{"quiet_from", "webhook email slack"},
    Member{"quiet_to", "webhook email slack"},
    Member{"quiet_zone", "webhook email slack"},
    Member{"tell_ends", "webhook email slack"},
    Member{"repeat_ns", "webhook email slack"},
};

bool has_word(std::string_view words, std::string_view word) {
    for (std::size_t at = words.find(word); at != std::string_view::npos;
         at = words.find(word, at + 1)) {
        const bool begins = at == 0 || words[at - 1] == ' ';
        const std::size_t end = at + word.size();
        if (begins && (end == words.size() || words[end] == ' ')) return true;
    }
    return false;
}

Error wrong(std::string_view member, const std::string& expected) {
    return make_error(ErrorKind::Invalid, fmt::format("\"{}\": expected {}", member, expected));
}

const json::value* member_of(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value == nullptr || value->is_null() ? nullptr : value;
}

Status take_text(const json::object& object, std::string_view name, std::size_t limit_bytes,
                 std::string& into) {
    const json::value* value = member_of(object, name);
    if (value == nullptr) return success();
    if (!value->is_string() || value->get_string().size() > limit_bytes)
        return wrong(name, fmt::format("at most {} bytes of text", limit_bytes));
    into = std::string(value->get_string());
    if (printable(into) != into) return wrong(name, "text without control characters");
    return success();
}

Status take_number(const json::object& object, std::string_view name, double least, double most,
                   std::optional<double>& into) {
    const json::value* value = member_of(object, name);
    if (value == nullptr) return success();
    json::error_code error;
    const double number = value->is_number() ? value->to_number<double>(error) : -1;
    if (error || !value->is_number() || !(number >= least && number <= most))
        return wrong(name, fmt::format("a number from {} to {}", least, most));
    into = number;
    return success();
}

template <typename Integer>
Status take_integer(const json::object& object, std::string_view name, std::uint64_t least,
                    std::uint64_t most, Integer& into) {
    const json::value* value = member_of(object, name);
    if (value == nullptr) return success();
    json::error_code error;
    const auto number = value->is_number() ? value->to_number<std::uint64_t>(error) : 0;
    if (error || !value->is_number() || number < least || number > most)
        return wrong(name, fmt::format("a whole number from {} to {}", least, most));
    into = static_cast<Integer>(number);
    return success();
}

template <std::size_t Count>
Result<std::size_t> take_word(const json::object& object, std::string_view name,
                              const std::array<std::string_view, Count>& words) {
    const json::value* value = member_of(object, name);
    const std::string_view word = value != nullptr && value->is_string()
                                      ? std::string_view(value->get_string())
                                      : std::string_view();
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end()) return wrong(name, fmt::format("one of {}", fmt::join(words, ", ")));
    return static_cast<std::size_t>(found - words.begin());
}

Result<std::optional<std::uint32_t>> take_minute(const json::object& object,
                                                 std::string_view name) {
    std::string text;
    TRY(take_text(object, name, name_limit_bytes, text));
    if (text.empty()) return std::optional<std::uint32_t>();
    std::uint32_t hour = 24, minute = 60;
    const bool shaped = text.size() == 5 && text[2] == ':';
    if (shaped) {
        const char* at = text.data();
        const auto hours = std::from_chars(at, at + 2, hour),
                   minutes = std::from_chars(at + 3, at + 5, minute);
        if (hours.ptr != at + 2 || minutes.ptr != at + 5) hour = 24;
    }
    if (hour > 23 || minute > 59) return wrong(name, "a time of day, such as 22:00");
    return std::optional(hour * 60 + minute);
}

Status check_address(const std::string& address, Way way) {
    const bool mail = way == Way::Email;
    const std::string expected =
        mail ? "the address of a mail server, smtps://HOST or smtp://HOST:PORT"
             : "an address that begins with https:// or http://";
    std::string_view rest = address;
    bool scheme = false;
    for (const std::string_view start :
         mail ? std::array<std::string_view, 2>{"smtps://", "smtp://"}
              : std::array<std::string_view, 2>{"https://", "http://"}) {
        if (!rest.starts_with(start)) continue;
        rest.remove_prefix(start.size());
        scheme = true;
        break;
    }
    const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
    if (!scheme || host.empty() || address.find_first_of(" \\\"<>") != std::string::npos)
        return wrong("address", expected);
    if (host.find('@') != std::string_view::npos)
        return wrong("address", "an address without an account; put a password into \"secret\"");
    if (mail && rest.size() != host.size()) return wrong("address", expected + ", without a path");
    return success();
}

Status check_mailbox(std::string_view member, const std::string& mailbox) {
    const auto at = mailbox.find('@');
    const bool fine = at != 0 && at != std::string::npos && at + 1 < mailbox.size() &&
                      mailbox.find('@', at + 1) == std::string::npos &&
                      mailbox.find_first_of(" ,;<>()\"\\") == std::string::npos &&
                      std::all_of(mailbox.begin(), mailbox.end(),
                                  [](char letter) { return letter > ' ' && letter < 127; });
    return fine ? success() : Status(wrong(member, "a mail address such as ann@example.org"));
}

Status take_mailboxes(const json::object& object, Rule& rule) {
    TRY(take_text(object, "from", mailbox_limit_bytes, rule.from));
    TRY(check_mailbox("from", rule.from));
    const json::value* to = member_of(object, "to");
    if (to == nullptr || !to->is_array() || to->get_array().empty() ||
        to->get_array().size() > mailboxes_limit)
        return wrong("to", fmt::format("a list of 1 to {} mail addresses", mailboxes_limit));
    for (const json::value& entry : to->get_array()) {
        const std::string mailbox =
            entry.is_string() ? std::string(entry.get_string()) : std::string();
        if (mailbox.size() > mailbox_limit_bytes)
            return wrong("to", "mail addresses of at most 254 bytes");
        TRY(check_mailbox("to", mailbox));
        rule.to.push_back(mailbox);
    }
    return success();
}

Status check_members(const json::object& object, std::string_view condition, std::string_view way) {
    for (const Member& member : members) {
        if (member_of(object, member.name) == nullptr) continue;
        if (!has_word(member.goes_with, condition) && !has_word(member.goes_with, way))
            return make_error(ErrorKind::Invalid,
                              fmt::format("\"{}\" cannot be used with {} and {}, only with {}",
                                          member.name, condition, way, member.goes_with));
    }
    return success();
}

Status take_condition(const json::object& object, Rule& rule) {
    constexpr double min_factor = 1.01, max_factor = 1000;
    constexpr std::uint64_t max_hours = 168, max_runs = 1'000'000'000;
    TRY(take_text(object, "event", name_limit_bytes, rule.event));
    TRY(take_text(object, "host", name_limit_bytes, rule.host));
    TRY(take_number(object, "over_share", 0.00001, 0.99, rule.over_share));
    TRY(take_number(object, "factor", min_factor, max_factor, rule.factor));
    TRY(take_integer(object, "hours", 1, max_hours, rule.hours));
    TRY(take_integer(object, "least_runs", 1, max_runs, rule.min_runs));
    TRY(take_integer(object, "over_runs", 0, max_runs, rule.over_runs));
    TRY(take_integer(object, "silent_ns", minute_ns, 29 * day_ns, rule.silent_ns));
    if (member_of(object, "over_ns") != nullptr) {
        std::uint64_t over_ns = 0;
        TRY(take_integer(object, "over_ns", 1, 30 * day_ns, over_ns));
        rule.over_ns = over_ns;
    }
    const bool bounded = rule.over_ns || rule.over_share;
    if (rule.condition == Condition::P99 && bounded == rule.factor.has_value())
        return make_error(ErrorKind::Invalid, "p99 needs either \"over_ns\" or \"factor\"");
    if (rule.condition == Condition::DelayShare && bounded == rule.factor.has_value())
        return make_error(ErrorKind::Invalid,
                          "delay_share needs either \"over_share\" or \"factor\"");
    if (rule.condition == Condition::HostSilent && rule.silent_ns == 0)
        return make_error(ErrorKind::Invalid,
                          "host_silent needs \"silent_ns\" of at least a minute");
    return success();
}

Status take_quiet(const json::object& object, Rule& rule) {
    TRY_ASSIGN(const auto from, take_minute(object, "quiet_from"));
    TRY_ASSIGN(const auto to, take_minute(object, "quiet_to"));
    if (from.has_value() != to.has_value())
        return make_error(ErrorKind::Invalid,
                          "\"quiet_from\" and \"quiet_to\" must be set together");
    if (from && *from == *to)
        return make_error(ErrorKind::Invalid,
                          "\"quiet_from\" and \"quiet_to\" are the same; to silence a rule all "
                          "day, set \"enabled\": false");
    QuietHours hours;
    TRY(take_text(object, "quiet_zone", name_limit_bytes, hours.zone));
    if (!from && member_of(object, "quiet_zone") != nullptr)
        return make_error(ErrorKind::Invalid,
                          "\"quiet_zone\" needs \"quiet_from\" and \"quiet_to\"");
    if (!from) return success();
    if (const auto fine = check_zone_name(hours.zone); !fine)
        return make_error(ErrorKind::Invalid, "\"quiet_zone\": " + fine.error().message);
    hours.from_min = *from;
    hours.to_min = *to;
    rule.quiet = std::move(hours);
    return success();
}

// A digest is one message for people.
Status check_digest(const Rule& rule) {
    if (rule.condition != Condition::WeeklyDigest) return success();
    if (rule.way == Way::Alertmanager)
        return make_error(ErrorKind::Invalid,
                          "weekly_digest goes to webhook, email or slack, not to alertmanager");
    if (rule.report_ends || rule.repeat_ns > 0)
        return make_error(ErrorKind::Invalid,
                          "weekly_digest has neither \"tell_ends\" nor \"repeat_ns\"");
    return success();
}

json::value text_or_nothing(const std::string& text) {
    if (text.empty()) return nullptr;
    return json::string(text);
}

std::string minute_text(std::uint32_t minute) {
    return fmt::format("{:02}:{:02}", minute / 60, minute % 60);
}

// "https://host:port" of an address.
std::string_view origin_of(std::string_view address) {
    const std::size_t host = address.find("://");
    if (host == std::string_view::npos) return address;
    return address.substr(0, address.find_first_of("/?#", host + 3));
}

}  // namespace

Result<bool> QuietHours::holds(std::uint64_t realtime_ns) const {
    constexpr std::int64_t minute_s = 60, day_min = 1440;
    const auto now_s = static_cast<std::int64_t>(realtime_ns / (minute_ns / minute_s));
    TRY_ASSIGN(const std::int64_t offset_s, zone_offset_s(zone, now_s));
    const auto minute = static_cast<std::uint32_t>((now_s + offset_s) / minute_s % day_min);
    return from_min < to_min ? minute >= from_min && minute < to_min
                             : minute >= from_min || minute < to_min;
}

std::string_view name_of(Condition condition) {
    return condition_names.at(static_cast<std::size_t>(condition));
}
std::string_view name_of(Way way) { return way_names.at(static_cast<std::size_t>(way)); }

Result<Rule> read_rule(const json::object& object) {
    Rule rule;
    TRY_ASSIGN(const std::size_t condition, take_word(object, "condition", condition_names));
    TRY_ASSIGN(const std::size_t way, take_word(object, "way", way_names));
    rule.condition = static_cast<Condition>(condition);
    rule.way = static_cast<Way>(way);
    TRY(check_members(object, condition_names[condition], way_names[way]));
    TRY(take_condition(object, rule));
    TRY(take_text(object, "address", address_limit_bytes, rule.address));
    TRY(check_address(rule.address, rule.way));
    if (rule.way == Way::Email) TRY(take_mailboxes(object, rule));
    TRY(take_text(object, "user", name_limit_bytes, rule.user));
    TRY(take_quiet(object, rule));
    if (const json::value* ends = member_of(object, "tell_ends")) {
        if (!ends->is_bool()) return wrong("tell_ends", "true or false");
        rule.report_ends = ends->get_bool();
    }
    if (member_of(object, "repeat_ns") != nullptr)
        TRY(take_integer(object, "repeat_ns", minute_ns, 365 * day_ns, rule.repeat_ns));
    TRY(check_digest(rule));
    return rule;
}

json::object rule_json(const Rule& rule) {
    const auto goes = [&](std::string_view name) {
        const auto* member = std::find_if(members.begin(), members.end(),
                                          [&](const Member& m) { return m.name == name; });
        return has_word(member->goes_with, name_of(rule.condition)) ||
               has_word(member->goes_with, name_of(rule.way));
    };
    json::object object{{"condition", name_of(rule.condition)},
                        {"way", name_of(rule.way)},
                        {"address", rule.address}};
    object["event"] = text_or_nothing(rule.event);
    object["host"] = text_or_nothing(rule.host);
    object["over_ns"] = rule.over_ns ? json::value(*rule.over_ns) : json::value(nullptr);
    object["over_share"] = rule.over_share ? json::value(*rule.over_share) : json::value(nullptr);
    object["factor"] = rule.factor ? json::value(*rule.factor) : json::value(nullptr);
    object["hours"] = goes("hours") ? json::value(rule.hours) : json::value(nullptr);
    object["least_runs"] = goes("least_runs") ? json::value(rule.min_runs) : json::value(nullptr);
    object["silent_ns"] = goes("silent_ns") ? json::value(rule.silent_ns) : json::value(nullptr);
    object["over_runs"] = goes("over_runs") ? json::value(rule.over_runs) : json::value(nullptr);
    object["from"] = text_or_nothing(rule.from);
    json::array to(rule.to.begin(), rule.to.end());
    object["to"] = goes("to") ? json::value(std::move(to)) : json::value(nullptr);
    object["user"] = text_or_nothing(rule.user);
    object["quiet_from"] =
        rule.quiet ? json::value(minute_text(rule.quiet->from_min)) : json::value(nullptr);
    object["quiet_to"] =
        rule.quiet ? json::value(minute_text(rule.quiet->to_min)) : json::value(nullptr);
    object["quiet_zone"] = text_or_nothing(rule.quiet ? rule.quiet->zone : "");
    object["tell_ends"] = goes("tell_ends") ? json::value(rule.report_ends) : json::value(nullptr);
    object["repeat_ns"] = rule.repeat_ns > 0 ? json::value(rule.repeat_ns) : json::value(nullptr);
    return object;
}

Result<Rule> parse_rule(const std::string& definition) {
    json::error_code error;
    const json::value value = json::parse(definition, error);
    if (error || !value.is_object())
        return make_error(ErrorKind::Invalid, "the stored rule is not a JSON object");
    return read_rule(value.get_object());
}

bool same_condition(const Rule& a, const Rule& b) {
    return a.condition == b.condition && a.event == b.event && a.host == b.host &&
           a.over_ns == b.over_ns && a.over_share == b.over_share && a.factor == b.factor &&
           a.hours == b.hours && a.min_runs == b.min_runs && a.silent_ns == b.silent_ns &&
           a.over_runs == b.over_runs;
}

bool same_receiver(const Rule& a, const Rule& b) {
    return a.way == b.way && a.user == b.user && origin_of(a.address) == origin_of(b.address);
}

std::string masked_address(const std::string& address) {
    return std::string(origin_of(address)) + "/...";
}

}  // namespace lagtrap::server
