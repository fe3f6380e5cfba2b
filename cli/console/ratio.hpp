// A part of a whole as a number.
#pragma once

#include <cstdint>

namespace lagtrap::cli {

// 0 if the whole is 0.
[[nodiscard]] constexpr double ratio(std::uint64_t part, std::uint64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace lagtrap::cli
