// Durations and sizes as people write them: a number and a unit, such as "50ms" or "1.5s".
// Settings, commands and reports use these.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap {

// Parses "250us", "50ms", "1.5s", "2min", "1h", "30d". The unit is required. The number is decimal,
// may have a fraction, and must not be negative. ErrorKind::Invalid with a message that says what
// is wrong: no unit, unknown unit, not a number, negative, or longer than 292 years.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// Formats with three significant digits, in a suitable unit: "812 ns", "4.71 ms", "12.0 s", "0 ns".
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);
// The same for a count of nanoseconds. Durations of more than 292 years show as 292 years.
[[nodiscard]] std::string format_duration_ns(std::uint64_t duration_ns);

// Parses "512MiB", "2GiB", "64KiB", "10MB", "100B". The unit is required. Errors:
// ErrorKind::Invalid.
[[nodiscard]] Result<std::uint64_t> parse_byte_size(std::string_view text);

// Formats as "1.50 MiB" or "812 B".
[[nodiscard]] std::string format_byte_size(std::uint64_t bytes);

}  // namespace lagtrap
