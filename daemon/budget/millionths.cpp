#include "daemon/budget/millionths.hpp"

#include <fmt/core.h>

namespace lagtrap::daemon {

std::string percent_of_ppm(std::uint64_t ppm) {
    constexpr std::uint64_t one_percent = 10'000;
    if (ppm >= 10 * one_percent || ppm % one_percent == 0)
        return fmt::format("{} %", (ppm + one_percent / 2) / one_percent);
    return fmt::format("{:.1f} %", static_cast<double>(ppm) / 10'000.0);
}

}  // namespace lagtrap::daemon
