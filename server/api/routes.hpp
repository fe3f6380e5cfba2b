// Routing: what a request asks for, by its method and target only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/accounts/principal.hpp"
#include "server/api/exchange.hpp"
#include "server/api/service.hpp"

namespace lagtrap::server {

// The rights that allow using a route.
struct Need {
    Right right = Right::Read;
    Right or_else = Right::Read;  // is sufficient too
};

// How a request is handled.
enum class Handling {
    Answer,
    WholeMachine,  // refused to people who may see only some events
    SignInLine,    // one of the sender's sign-ins that may wait for the hashing threads
    BundleUpload,
    BatchUpload,
};

struct RouteCall;

// Everything the server knows about an address. The table is in route_table.cpp.
struct RouteRow {
    Method method = Method::Get;
    std::string_view path;  // {digest} is validated, other {...} match any text
    // names in the query, separated by blanks; "F": those of the filter, without event
    std::string_view parameters;
    std::optional<Need> need;  // nullopt: open to everybody
    Work work = Work::Light;
    Reply (*answer)(const RouteCall& call) = nullptr;  // null for uploads
    std::uint64_t body_limit_bytes = 0;                // of JSON; 0: takes none
    Handling handling = Handling::Answer;
};

struct Route {
    // into the table; never null in a result of find_route()
    const RouteRow* row = nullptr;
    std::string path;                                        // without the query
    std::vector<std::string> arguments;                      // the decoded texts that matched {...}
    std::vector<std::pair<std::string, std::string>> query;  // decoded; only names of the route

    [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
    // All values of a parameter that may be repeated: host, user, build, process, unit.
    [[nodiscard]] std::vector<std::string_view> parameters(std::string_view name) const;
};

// Refuses with 404, 405 or 400 if there is no such route.
[[nodiscard]] std::variant<Route, Refusal> find_route(Method method, std::string_view target);

// Reads a filter of runs given as a query without its question mark: "host=a&host=b&build=c".
[[nodiscard]] std::variant<Route, Refusal> read_filter_query(std::string_view query);

// Decodes %XX and, with Plus::Blank, "+" as a blank. nullopt if the text is malformed, is not UTF-8
// or contains control characters.
enum class Plus { Itself, Blank };
[[nodiscard]] std::optional<std::string> decode_percent(std::string_view text, Plus plus);

}  // namespace lagtrap::server
