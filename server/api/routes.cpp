#include "server/api/routes.hpp"

#include <algorithm>

#include "core/digest.hpp"
#include "core/text.hpp"
#include "server/api/route_table.hpp"

namespace lagtrap::server {
namespace {

constexpr std::string_view filter_words =
    "from to host user build process unit start dirty outliers";
// parameters that may be repeated
constexpr std::string_view repeated_words = "host user build process unit";
constexpr std::size_t repeated_limit = 100;

// Removes and returns the text up to `separator`, or all of it.
std::string_view take_part(std::string_view& text, char separator) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    return part;
}

int digit_of(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

bool matches(std::string_view pattern, std::string_view path,
             std::vector<std::string_view>& arguments) {
    if (std::count(pattern.begin(), pattern.end(), '/') !=
        std::count(path.begin(), path.end(), '/'))
        return false;
    while (!pattern.empty()) {
        const std::string_view wanted = take_part(pattern, '/');
        const std::string_view found = take_part(path, '/');
        if (!wanted.starts_with('{')) {
            if (wanted != found) return false;
        } else if (found.empty() || (wanted == "{digest}" && !is_sha256_hex(found))) {
            return false;
        } else {
            arguments.push_back(found);
        }
    }
    return true;
}

bool has_word(std::string_view words, std::string_view word) {
    while (!words.empty())
        if (take_part(words, ' ') == word) return true;
    return false;
}

std::optional<Refusal> read_query(std::string_view query, const RouteRow& row, Route& route) {
    while (!query.empty()) {
        std::string_view pair = take_part(query, '&');
        const auto name = decode_percent(take_part(pair, '='), Plus::Blank);
        auto value = decode_percent(pair, Plus::Blank);
        if (!name || !value) return Refusal{400, "the query is not percent-encoded UTF-8"};
        const bool known = has_word(row.parameters, *name) ||
                           (has_word(row.parameters, "F") && has_word(filter_words, *name));
        if (!known || *name == "F")
            return Refusal{400, "the query has \"" + printable(*name).substr(0, 64) +
                                    "\", which this address does not know"};
        const bool repeats = has_word(row.parameters, "F") && has_word(repeated_words, *name);
        if (!repeats && route.parameter(*name))
            return Refusal{400, "the query has \"" + *name + "\" twice"};
        if (repeats && route.parameters(*name).size() == repeated_limit)
            return Refusal{400, "the query has \"" + *name + "\" more than " +
                                    std::to_string(repeated_limit) + " times"};
        route.query.emplace_back(*name, std::move(*value));
    }
    return std::nullopt;
}

// Whether `path` belongs to the API and not to the pages.
bool is_of_programs(std::string_view path) {
    return path == "/api" || path.starts_with("/api/") || path == "/metrics" || path == "/healthz";
}

Refusal nothing_there(std::string_view path) {
    for (const std::string_view start : {"/api/v1/bundles/", "/api/v1/batches/"})
        if (path.starts_with(start))
            return {404, "no such address",
                    "the address of a bundle or batch ends with the 64 lower-case hexadecimal "
                    "digits of its SHA-256"};
    return {404, "no such address", "/api/v1/openapi.yaml lists the addresses"};
}

}  // namespace

std::optional<std::string_view> Route::parameter(std::string_view name) const {
    for (const auto& [key, value] : query)
        if (key == name) return value;
    return std::nullopt;
}

std::vector<std::string_view> Route::parameters(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const auto& [key, value] : query)
        if (key == name) values.emplace_back(value);
    return values;
}

std::optional<std::string> decode_percent(std::string_view text, Plus plus) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char letter = text[i];
        if (letter == '+' && plus == Plus::Blank) letter = ' ';
        if (letter == '%') {
            if (i + 2 >= text.size() || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0)
                return std::nullopt;
            letter = static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
            i += 2;
        }
        if (letter == '\0') return std::nullopt;
        decoded += letter;
    }
    return printable(decoded) == decoded ? std::optional(std::move(decoded)) : std::nullopt;
}

std::variant<Route, Refusal> find_route(Method method, std::string_view target) {
    std::string_view query = target;
    const std::string_view path = take_part(query, '?');
    Route route;
    route.path = path;
    if (!is_of_programs(path)) {
        if (method != Method::Get && method != Method::Head)
            return Refusal{405, "only GET and HEAD"};
        route.row = &page_row();
        return route;
    }
    bool exists = false;
    // HEAD falls back to GET without the body, unless the address has its own HEAD.
    for (const Method wanted : {method, method == Method::Head ? Method::Get : method}) {
        for (const RouteRow& row : route_rows()) {
            std::vector<std::string_view> arguments;
            if (!matches(row.path, path, arguments)) continue;
            exists = true;
            if (row.method != wanted) continue;
            for (const std::string_view argument : arguments) {
                auto decoded = decode_percent(argument, Plus::Itself);
                if (!decoded) return Refusal{400, "the address is not percent-encoded UTF-8"};
                route.arguments.push_back(std::move(*decoded));
            }
            route.row = &row;
            if (auto wrong = read_query(query, row, route)) return *wrong;
            return route;
        }
    }
    if (!exists) return nothing_there(path);
    return Refusal{405, "the address does not know this method",
                   "/api/v1/openapi.yaml lists the methods"};
}

std::variant<Route, Refusal> read_filter_query(std::string_view query) {
    Route route;
    static const RouteRow set{Method::Get, "", "F", std::nullopt};
    route.row = &set;
    if (auto wrong = read_query(query, set, route)) return *wrong;
    return route;
}

}  // namespace lagtrap::server
