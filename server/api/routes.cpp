#include "server/api/routes.hpp"

#include <charconv>

#include "core/digest.hpp"

namespace lagtrap::server {
namespace {

constexpr std::string_view bundles_path = "/api/v1/bundles";

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && number > 0;
}

// "limit=" and "before="; false for anything else.
bool parse_query(std::string_view query, Route& route) {
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        if (pair.starts_with("limit=")) {
            if (!parse_number(pair.substr(6), route.limit) || route.limit > list_limit_most) return false;
        } else if (pair.starts_with("before=")) {
            std::int64_t before = 0;
            if (!parse_number(pair.substr(7), before)) return false;
            route.before = before;
        } else {
            return false;
        }
    }
    return true;
}

std::variant<Route, Refusal> bundle_route(Method method, std::string_view rest) {
    const std::string_view digest = rest.substr(0, rest.find('/'));
    const std::string_view part = rest.substr(digest.size());
    if (!is_sha256_hex(digest))
        return Refusal{404, "a bundle's address ends with the 64 lower-case hexadecimal digits of its SHA-256"};
    Route route;
    route.digest = digest;
    const bool reads = method == Method::Get || method == Method::Head;
    if (part == "/system" && reads) {
        route.kind = RouteKind::SystemFile;
        return route;
    }
    if (!part.empty()) return part == "/system" ? Refusal{405, "only GET"} : Refusal{404, "no such address"};
    if (method == Method::Other) return Refusal{405, "only GET, HEAD and PUT"};
    route.kind = method == Method::Put    ? RouteKind::UploadBundle
                 : method == Method::Head ? RouteKind::FindBundle
                                          : RouteKind::GetBundle;
    return route;
}

}  // namespace

std::variant<Route, Refusal> find_route(Method method, std::string_view target) {
    const std::string_view path = target.substr(0, target.find('?'));
    const std::string_view query = path.size() < target.size() ? target.substr(path.size() + 1) : std::string_view();
    if (path.starts_with(bundles_path) && path.substr(bundles_path.size()).starts_with('/'))
        return bundle_route(method, path.substr(bundles_path.size() + 1));

    Route route;
    if (path == "/") {
        route.kind = RouteKind::Page;
    } else if (path == "/style.css") {
        route.kind = RouteKind::Style;
    } else if (path == "/healthz") {
        route.kind = RouteKind::Health;
    } else if (path == "/metrics") {
        route.kind = RouteKind::Metrics;
    } else if (path == bundles_path) {
        route.kind = RouteKind::List;
    } else {
        return Refusal{404, "no such address"};
    }
    if (method != Method::Get && method != Method::Head) return Refusal{405, "only GET and HEAD"};
    const bool lists = route.kind == RouteKind::Page || route.kind == RouteKind::List;
    if (lists && !parse_query(query, route))
        return Refusal{400, "expected limit=1..500 and before=NUMBER, nothing else"};
    return route;
}

std::optional<Need> need_of(RouteKind kind) {
    switch (kind) {
        case RouteKind::Health:
        case RouteKind::Style: return std::nullopt;
        case RouteKind::UploadBundle: return Need{Scope::Upload, std::nullopt};
        // Whoever may send a bundle may ask whether it is there.
        case RouteKind::FindBundle: return Need{Scope::Upload, Scope::Read};
        default: return Need{Scope::Read, std::nullopt};
    }
}

}  // namespace lagtrap::server
