// The units in which the tables of the schema write limits.
#pragma once

#include <cstdint>

namespace lagtrap::settings::units {

inline constexpr std::uint64_t us = 1'000;
inline constexpr std::uint64_t ms = 1'000 * us;
inline constexpr std::uint64_t s = 1'000 * ms;
inline constexpr std::uint64_t hour = 3'600 * s;
inline constexpr std::uint64_t day = 24 * hour;
inline constexpr std::uint64_t kibibyte = 1ULL << 10;
inline constexpr std::uint64_t mebibyte = 1ULL << 20;
inline constexpr std::uint64_t percent = 10'000;        // millionths
inline constexpr std::uint64_t pid_limit = 1ULL << 22;  // the kernel's PID_MAX_LIMIT

}  // namespace lagtrap::settings::units
