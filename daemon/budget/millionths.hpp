// Shares of a time in millionths (ppm), as the settings and the budget measure them.
#pragma once

#include <cstdint>
#include <string>

namespace lagtrap::daemon {

[[nodiscard]] constexpr std::uint64_t part_of(std::uint64_t length_ns, std::uint64_t ppm) {
    return static_cast<std::uint64_t>(static_cast<double>(length_ns) * static_cast<double>(ppm) /
                                      1e6);
}

// 0 for a part of no time.
[[nodiscard]] constexpr std::uint64_t ppm_of(std::uint64_t part_ns, std::uint64_t whole_ns) {
    return whole_ns == 0 ? 0
                         : static_cast<std::uint64_t>(static_cast<double>(part_ns) * 1e6 /
                                                      static_cast<double>(whole_ns));
}

// "13 %" for 125,000 millionths; with a decimal place below 10 %.
[[nodiscard]] std::string percent_of_ppm(std::uint64_t ppm);

}  // namespace lagtrap::daemon
