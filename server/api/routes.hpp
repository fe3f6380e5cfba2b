// What a request asks for, from its method and target alone.
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

// What one must be allowed to, to use the route.
struct Need {
    Right right = Right::Read;
    Right or_else = Right::Read;  // suffices too
};

// How a request comes to its answer.
enum class Handling {
    Answer,
    WholeMachine,  // an answer that people who see a part of the events alone do not get
    SignInLine,    // a sender's share of the line before the threads that hash
    BundleUpload,
    BatchUpload,
};

struct RouteCall;

// All that the server knows of an address. The table of them is in route_table.cpp.
struct RouteRow {
    Method method = Method::Get;
    std::string_view path;        // {digest} is checked, other {...} take any text
    std::string_view parameters;  // names of the query, with blanks between; "F": those of the filter, without event
    std::optional<Need> need;     // nothing: anybody may
    Work work = Work::Light;
    Reply (*answer)(const RouteCall& call) = nullptr;  // none for uploads
    std::uint64_t body_limit_bytes = 0;                // of JSON; 0: takes none
    Handling handling = Handling::Answer;
};

struct Route {
    const RouteRow* row = nullptr;                           // of the table; never null in what find_route() gives
    std::string path;                                        // without the query
    std::vector<std::string> arguments;                      // what stood in place of {...}, decoded
    std::vector<std::pair<std::string, std::string>> query;  // decoded; names are those of the route

    [[nodiscard]] std::optional<std::string_view> parameter(std::string_view name) const;
    // All values of one that may stand several times: host, user, build, process, unit. Others stand once.
    [[nodiscard]] std::vector<std::string_view> parameters(std::string_view name) const;
};

// 404, 405 or 400 for what there is not.
[[nodiscard]] std::variant<Route, Refusal> find_route(Method method, std::string_view target);

// The filter of a set of runs, as a query without its question mark: "host=a&host=b&build=c".
[[nodiscard]] std::variant<Route, Refusal> read_filter_query(std::string_view query);

// %XX and, where `plus` is a blank, +. Nothing for what is no such text, is not UTF-8 or holds control characters.
enum class Plus { Itself, Blank };
[[nodiscard]] std::optional<std::string> decode_percent(std::string_view text, Plus plus);

}  // namespace lagtrap::server
