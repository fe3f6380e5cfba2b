// Helpers for routes: JSON replies, JSON bodies, parameters.
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
// The reply for an error of the store or the disk.
[[nodiscard]] Reply failure(const Error& error);

// Rounded, and clamped like json_number(); 0 for NaN.
[[nodiscard]] std::int64_t json_signed(double value);
// A time or an id as a string of digits.
[[nodiscard]] json::string json_digits(std::uint64_t value);
[[nodiscard]] json::value digits_or_null(std::optional<std::uint64_t> value);
[[nodiscard]] json::value text_or_null(const std::string& text);  // null if empty
// Clamped to 0 to 1.
[[nodiscard]] json::value share_or_null(const std::optional<double>& share);

// The body as an object with exactly these members. Names in parentheses, "(host)", are optional.
[[nodiscard]] std::variant<json::object, Refusal> read_object(
    const Request& request, std::initializer_list<std::string_view> names);
// A string member of at most `limit_bytes`: UTF-8 without U+0000, which PostgreSQL cannot store.
[[nodiscard]] std::variant<std::string, Refusal> read_text(const json::object& object,
                                                           std::string_view name,
                                                           std::size_t limit_bytes);
// nullopt unless the whole text is digits.
[[nodiscard]] std::optional<std::uint64_t> read_digits(std::string_view text);

// The filter of openapi.yaml. Pass the event of the path, if it has one, as `event`.
[[nodiscard]] std::variant<Filter, Refusal> read_filter(const Route& route,
                                                        const std::string& event);

struct PageQuestion {
    std::uint32_t limit = 0;
    std::optional<PageKey> after;
};
[[nodiscard]] std::variant<PageQuestion, Refusal> read_page(const Route& route,
                                                            std::uint32_t default_limit);
[[nodiscard]] json::value next_of(const std::optional<PageKey>& next);

}  // namespace lagtrap::server
