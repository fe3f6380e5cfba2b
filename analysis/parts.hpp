// Thresholds for when reports let a part stand for the whole.
#pragma once

#include <cstdint>

namespace lagtrap::analysis {

// 95 % or more: the rest is not worth mentioning. is_most() is 60 % or more.
[[nodiscard]] constexpr bool is_nearly(std::uint64_t part, std::uint64_t whole) {
    return part >= whole - whole / 20;
}
[[nodiscard]] constexpr bool is_most(std::uint64_t part, std::uint64_t whole) {
    return part >= whole - whole * 2 / 5;
}

}  // namespace lagtrap::analysis
