// Limits integers to those that every JSON reader reads exactly.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lagtrap {

// Larger integers are inexact in readers that store numbers as doubles (RFC 8259, section 6).
inline constexpr std::uint64_t json_number_limit = (1ULL << 53) - 1;

// Clamps to the limit.
[[nodiscard]] constexpr std::uint64_t json_number(std::uint64_t value) {
    return std::min(value, json_number_limit);
}
[[nodiscard]] constexpr std::int64_t json_number(std::int64_t value) {
    constexpr auto limit = static_cast<std::int64_t>(json_number_limit);
    return std::clamp(value, -limit, limit);
}

}  // namespace lagtrap
