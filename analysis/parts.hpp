// When a part stands for its whole in what people are told.
#pragma once

#include <cstdint>

namespace lagtrap::analysis {

// The rest need not be told.
[[nodiscard]] constexpr bool is_nearly(std::uint64_t part, std::uint64_t whole) { return part >= whole - whole / 20; }
[[nodiscard]] constexpr bool is_most(std::uint64_t part, std::uint64_t whole) { return part >= whole - whole * 2 / 5; }

}  // namespace lagtrap::analysis
