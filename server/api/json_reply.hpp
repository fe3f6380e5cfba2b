// Small helpers of the routes: JSON out, JSON in, parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <boost/json.hpp>

#include "core/json_number.hpp"
#include "core/result.hpp"
#include "server/api/exchange.hpp"
#include "server/api/routes.hpp"
#include "server/store/filter.hpp"

namespace lagtrap::server {

namespace json = boost::json;

[[nodiscard]] Reply json_reply(const json::value& value, unsigned status = 200);
[[nodiscard]] Reply empty_reply();  // 204
// What a failure of store or disk means to whoever asked.
[[nodiscard]] Reply failure(const Error& error);

// Rounded, and cut off where json_number() does; 0 for what is no number.
[[nodiscard]] std::int64_t json_signed(double value);
// A time or id: digits.
[[nodiscard]] json::string json_digits(std::uint64_t value);
[[nodiscard]] json::value digits_or_null(std::optional<std::uint64_t> value);
[[nodiscard]] json::value text_or_null(const std::string& text);  // null for an empty one

// The body as an object with these members and no others. `names` in parentheses may be missing: "(host)".
[[nodiscard]] std::variant<json::object, Refusal> read_object(const Request& request,
                                                              std::initializer_list<std::string_view> names);
// A member that must be a string of at most `limit_bytes`, UTF-8 without U+0000, which PostgreSQL does not store.
[[nodiscard]] std::variant<std::string, Refusal> read_text(const json::object& object, std::string_view name,
                                                           std::size_t limit_bytes);
// Digits only, all of them.
[[nodiscard]] std::optional<std::uint64_t> read_digits(std::string_view text);

// The filter of openapi.yaml; the event of the path, where there is one, comes as `event`.
[[nodiscard]] std::variant<Filter, Refusal> read_filter(const Route& route, const std::string& event);

struct PageQuestion {
    std::uint32_t limit = 0;
    std::optional<PageKey> after;
};
[[nodiscard]] std::variant<PageQuestion, Refusal> read_page(const Route& route, std::uint32_t default_limit);
[[nodiscard]] json::value next_of(const std::optional<PageKey>& next);

}  // namespace lagtrap::server
