// The difference between two readings of a counter.
#pragma once

#include <cstdint>

namespace lagtrap::daemon {

// 0 if the counter went backwards, as it does after a restart.
[[nodiscard]] constexpr std::uint64_t since(std::uint64_t now, std::uint64_t before) {
    return now > before ? now - before : 0;
}

}  // namespace lagtrap::daemon
