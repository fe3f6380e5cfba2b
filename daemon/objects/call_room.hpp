// How many calls of a trace may be reported, by time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace lagtrap::daemon {

class CallRoom {
  public:
    // Up to one second's share at once, from `now_ns` on.
    CallRoom(std::uint64_t per_second, std::uint64_t now_ns)
        : per_second_(per_second), filled_ns_(now_ns) {}

    // The room now, if it is larger than what is left.
    [[nodiscard]] std::optional<std::uint64_t> refill(std::uint64_t now_ns, std::int64_t left) {
        constexpr std::uint64_t second_ns = 1'000'000'000;
        const std::uint64_t elapsed_ns = std::min(now_ns - filled_ns_, second_ns);
        const auto more = static_cast<std::uint64_t>(static_cast<double>(per_second_) *
                                                     static_cast<double>(elapsed_ns) /
                                                     static_cast<double>(second_ns));
        if (more == 0) return std::nullopt;
        filled_ns_ = now_ns;
        return std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(left, 0)) + more,
                        per_second_);
    }

  private:
    std::uint64_t per_second_;
    std::uint64_t filled_ns_;
};

}  // namespace lagtrap::daemon
