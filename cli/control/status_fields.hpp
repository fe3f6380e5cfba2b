// Fields of the daemon's answer. A missing field, or one of another type, counts as 0 or empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <boost/json.hpp>

#include "cli/console/text_layout.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {

[[nodiscard]] inline std::uint64_t number(const boost::json::object& from, const char* key) {
    const auto* value = from.if_contains(key);
    if (value == nullptr) return 0;
    if (value->is_uint64()) return value->as_uint64();
    if (value->is_int64() && value->as_int64() > 0)
        return static_cast<std::uint64_t>(value->as_int64());
    return 0;
}

[[nodiscard]] inline double real(const boost::json::object& from, const char* key) {
    const auto* value = from.if_contains(key);
    if (value == nullptr || !value->is_number()) return 0;
    return value->to_number<double>();
}

// Returns printable text.
[[nodiscard]] inline std::string text(const boost::json::object& from, const char* key) {
    const auto* value = from.if_contains(key);
    return value != nullptr && value->is_string() ? printable(std::string_view(value->as_string()))
                                                  : std::string();
}

[[nodiscard]] inline bool truth(const boost::json::object& from, const char* key) {
    const auto* value = from.if_contains(key);
    return value != nullptr && value->is_bool() && value->as_bool();
}

// True if an event is watched only part of the time, because watching it always would cost too
// much.
[[nodiscard]] inline bool is_watched_in_part(const boost::json::object& event) {
    const double share = real(event, "watched_share");
    return share > 0 && share < 1;
}

[[nodiscard]] inline bool is_disabled(const boost::json::object& event) {
    return truth(event, "disabled") && !is_watched_in_part(event);
}

[[nodiscard]] inline const boost::json::object& part(const boost::json::object& from,
                                                     const char* key) {
    static const boost::json::object nothing;
    const auto* value = from.if_contains(key);
    return value != nullptr && value->is_object() ? value->as_object() : nothing;
}

[[nodiscard]] inline const boost::json::array& list(const boost::json::object& from,
                                                    const char* key) {
    static const boost::json::array nothing;
    const auto* value = from.if_contains(key);
    return value != nullptr && value->is_array() ? value->as_array() : nothing;
}

// "12.0 s" for a number of seconds.
[[nodiscard]] inline std::string seconds_text(const boost::json::object& from, const char* key) {
    constexpr double max_s = 1e9;
    return duration(static_cast<std::uint64_t>(std::clamp(real(from, key), 0.0, max_s) * 1e9));
}

}  // namespace lagtrap::cli
