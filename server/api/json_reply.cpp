#include "server/api/json_reply.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/text.hpp"
#include "server/ingest/ingest.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t parameter_limit_bytes = 256;
constexpr std::uint32_t limit_most = 1000;
constexpr std::size_t json_depth = 8;

Refusal wrong_parameter(std::string_view name, const std::string& expected) {
    return {400, "\"" + std::string(name) + "\": expected " + expected};
}

// Stores a parameter's text in the filter. Returns what is wrong, or nullopt.
std::optional<Refusal> take_text(const Route& route, std::string_view name,
                                 std::optional<std::string>& into) {
    const auto text = route.parameter(name);
    if (!text || text->empty()) return std::nullopt;
    if (text->size() > parameter_limit_bytes) return wrong_parameter(name, "at most 256 bytes");
    into = std::string(*text);
    return std::nullopt;
}

std::optional<Refusal> take_texts(const Route& route, std::string_view name,
                                  std::vector<std::string>& into) {
    for (const std::string_view text : route.parameters(name)) {
        if (text.size() > parameter_limit_bytes) return wrong_parameter(name, "at most 256 bytes");
        if (!text.empty()) into.emplace_back(text);
    }
    return std::nullopt;
}

std::optional<Refusal> take_time(const Route& route, std::string_view name,
                                 std::optional<std::uint64_t>& into) {
    const auto text = route.parameter(name);
    if (!text || text->empty()) return std::nullopt;
    into = read_digits(*text);
    if (into) return std::nullopt;
    return wrong_parameter(name, "nanoseconds since 1970, as digits");
}

}  // namespace

Reply reply_of(const Refusal& refusal) {
    Reply reply;
    reply.status = refusal.status;
    json::object error{{"message", printable(refusal.message)}};
    if (!refusal.hint.empty()) error["hint"] = printable(refusal.hint);
    reply.body = json::serialize(json::object{{"error", std::move(error)}}) + "\n";
    if (refusal.status == 401)
        reply.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"lagtrap\"");
    if (refusal.retry_after.count() > 0)
        reply.headers.emplace_back("Retry-After", std::to_string(refusal.retry_after.count()));
    return reply;
}

Reply json_reply(const json::value& value, unsigned status) {
    Reply reply;
    reply.status = status;
    reply.body = json::serialize(value) + "\n";
    return reply;
}

Reply empty_reply() {
    Reply reply;
    reply.status = 204;
    return reply;
}

Reply failure(const Error& error) { return reply_of(Ingest::refusal_of(error)); }

std::int64_t json_signed(double value) {
    const double limit = static_cast<double>(json_number_limit);
    return std::isfinite(value)
               ? static_cast<std::int64_t>(std::round(std::clamp(value, -limit, limit)))
               : 0;
}

json::string json_digits(std::uint64_t value) { return json::string(std::to_string(value)); }

json::value digits_or_null(std::optional<std::uint64_t> value) {
    if (!value) return nullptr;
    return json_digits(*value);
}

json::value share_or_null(const std::optional<double>& share) {
    if (!share) return nullptr;
    return std::clamp(*share, 0.0, 1.0);
}

json::value text_or_null(const std::string& text) {
    if (text.empty()) return nullptr;
    return json::string(text);
}

std::variant<json::object, Refusal> read_object(const Request& request,
                                                std::initializer_list<std::string_view> names) {
    json::error_code error;
    json::parse_options options;
    options.max_depth = json_depth;
    json::value value = json::parse(request.body, error, {}, options);
    if (error || !value.is_object()) return Refusal{400, "the body is not a JSON object"};
    json::object& object = value.get_object();
    for (const auto& [key, ignored] : object) {
        const std::string_view name(key.data(), key.size());
        const bool known = std::any_of(names.begin(), names.end(), [&](std::string_view wanted) {
            return (wanted.starts_with('(') ? wanted.substr(1, wanted.size() - 2) : wanted) == name;
        });
        if (!known)
            return Refusal{
                400, "the body has the unknown member \"" + printable(name).substr(0, 64) + "\""};
    }
    for (const std::string_view wanted : names)
        if (!wanted.starts_with('(') && !object.contains(wanted))
            return Refusal{400, "the body has no \"" + std::string(wanted) + "\""};
    return std::move(object);
}

std::variant<std::string, Refusal> read_text(const json::object& object, std::string_view name,
                                             std::size_t limit_bytes) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr || !value->is_string()) return wrong_parameter(name, "a text");
    const json::string& text = value->get_string();
    if (text.size() > limit_bytes)
        return wrong_parameter(name, "at most " + std::to_string(limit_bytes) + " bytes");
    if (text.find('\0') != json::string::npos)
        return wrong_parameter(name, "a text without the letter U+0000");
    return std::string(text.data(), text.size());
}

std::optional<std::uint64_t> read_digits(std::string_view text) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool all = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    return all ? std::optional(number) : std::nullopt;
}

std::variant<Filter, Refusal> read_filter(const Route& route, const std::string& event) {
    Filter filter;
    if (!event.empty()) filter.event = event;
    for (const auto& wrong :
         {event.empty() ? take_text(route, "event", filter.event) : std::nullopt,
          take_time(route, "from", filter.from_ns), take_time(route, "to", filter.to_ns),
          take_texts(route, "host", filter.host), take_texts(route, "user", filter.user),
          take_texts(route, "build", filter.build), take_texts(route, "process", filter.process),
          take_texts(route, "unit", filter.unit)})
        if (wrong) return *wrong;
    if (const auto start = route.parameter("start"); start && !start->empty()) {
        if (*start != "cold" && *start != "warm") return wrong_parameter("start", "cold or warm");
        filter.start = *start == "cold" ? trace::StartKind::Cold : trace::StartKind::Warm;
    }
    if (const auto dirty = route.parameter("dirty"); dirty && !dirty->empty()) {
        if (*dirty != "0" && *dirty != "1" && *dirty != "only")
            return wrong_parameter("dirty", "0, 1 or only");
        filter.with_dirty = *dirty != "0";
        filter.only_dirty = *dirty == "only";
    }
    if (const auto outliers = route.parameter("outliers"); outliers && !outliers->empty()) {
        if (*outliers != "0" && *outliers != "1") return wrong_parameter("outliers", "0 or 1");
        filter.without_outliers = *outliers == "0";
    }
    return filter;
}

std::variant<PageQuestion, Refusal> read_page(const Route& route, std::uint32_t default_limit) {
    PageQuestion question;
    question.limit = default_limit;
    if (const auto limit = route.parameter("limit")) {
        const auto number = read_digits(*limit);
        if (!number || *number == 0 || *number > limit_most)
            return wrong_parameter("limit", "1 to 1000");
        question.limit = static_cast<std::uint32_t>(*number);
    }
    if (const auto after = route.parameter("after")) {
        const std::size_t dash = after->find('-');
        const auto value = read_digits(after->substr(0, dash));
        const auto id =
            dash == std::string_view::npos ? std::nullopt : read_digits(after->substr(dash + 1));
        if (!value || !id) return wrong_parameter("after", "the \"next\" of the part before");
        question.after = PageKey{*value, *id};
    }
    return question;
}

json::value next_of(const std::optional<PageKey>& next) {
    if (!next) return nullptr;
    return json::string(std::to_string(next->value) + "-" + std::to_string(next->id));
}

}  // namespace lagtrap::server
