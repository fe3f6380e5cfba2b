// What a count has grown by.
#pragma once

#include <cstdint>

namespace lagtrap::daemon {

// 0 for one that went back.
[[nodiscard]] constexpr std::uint64_t since(std::uint64_t now, std::uint64_t before) {
    return now > before ? now - before : 0;
}

}  // namespace lagtrap::daemon
