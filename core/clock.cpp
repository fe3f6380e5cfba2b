#include "core/clock.hpp"

#include <fmt/core.h>

namespace lagtrap {
namespace {

std::uint64_t read_clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL +
           static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

ClockSnapshot ClockSnapshot::take() {
    return {read_clock_ns(CLOCK_MONOTONIC), read_clock_ns(CLOCK_BOOTTIME),
            read_clock_ns(CLOCK_REALTIME)};
}

std::string format_utc(std::uint64_t realtime_ns) {
    const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000ULL);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                       realtime_ns % 1'000'000'000ULL / 1000);
}

}  // namespace lagtrap
