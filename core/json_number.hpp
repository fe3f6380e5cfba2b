// Numbers that every reader of JSON reads as they were written.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lagtrap {

// Larger ones are not exact where numbers are doubles (RFC 8259, 6).
inline constexpr std::uint64_t json_number_limit = (1ULL << 53) - 1;

// A larger number is cut off there.
[[nodiscard]] constexpr std::uint64_t json_number(std::uint64_t value) { return std::min(value, json_number_limit); }
[[nodiscard]] constexpr std::int64_t json_number(std::int64_t value) {
    constexpr auto limit = static_cast<std::int64_t>(json_number_limit);
    return std::clamp(value, -limit, limit);
}

}  // namespace lagtrap
