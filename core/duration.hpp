// Durations as people write them: a number and a unit, "50ms", "1.5s". Shared by settings, commands and reports.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap {

// Parses "250us", "50ms", "1.5s", "2min", "1h", "30d". A unit is required; the number is decimal, may have a
// fraction, and is not negative. Errors (ErrorKind::Invalid) say what is wrong: no unit, unknown unit, not a
// number, negative, or more than 292 years of nanoseconds.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// Three significant digits in the unit that suits: "812 ns", "4.71 ms", "12.0 s", "0 ns".
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);
// The same of a count of nanoseconds; more than 292 years are shown as 292 years.
[[nodiscard]] std::string format_duration_ns(std::uint64_t duration_ns);

// Parses "512MiB", "2GiB", "64KiB", "10MB", "100B"; a unit is required.
[[nodiscard]] Result<std::uint64_t> parse_byte_size(std::string_view text);

// "1.50 MiB", "812 B".
[[nodiscard]] std::string format_byte_size(std::uint64_t bytes);

}  // namespace lagtrap
