// What a request asks for, from its method and target alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/api/tokens.hpp"
#include "server/ingest/ingest.hpp"

namespace lagtrap::server {

enum class Method { Get, Head, Put, Other };

enum class RouteKind {
    Page,          // GET /
    Style,         // GET /style.css
    Health,        // GET /healthz
    Metrics,       // GET /metrics
    List,          // GET /api/v1/bundles?limit=&before=
    UploadBundle,  // PUT /api/v1/bundles/{digest}
    FindBundle,    // HEAD /api/v1/bundles/{digest}
    GetBundle,     // GET /api/v1/bundles/{digest}
    SystemFile,    // GET /api/v1/bundles/{digest}/system
};

inline constexpr std::uint32_t list_limit_default = 50;
inline constexpr std::uint32_t list_limit_most = 500;

struct Route {
    RouteKind kind = RouteKind::Page;
    std::string digest;
    std::uint32_t limit = list_limit_default;
    std::optional<std::int64_t> before;
};

// 404, 405 or 400 for what there is not.
[[nodiscard]] std::variant<Route, Refusal> find_route(Method method, std::string_view target);

// The scopes of which one is needed; nothing: anybody may.
struct Need {
    Scope scope = Scope::Read;
    std::optional<Scope> or_else;
};
[[nodiscard]] std::optional<Need> need_of(RouteKind kind);

}  // namespace lagtrap::server
