#include "daemon/functions/reported_rate.hpp"

#include <algorithm>

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t look_ns = 100'000'000;
constexpr std::chrono::nanoseconds first_minimum = std::chrono::microseconds(1);
constexpr std::chrono::nanoseconds max_minimum = std::chrono::seconds(10);

}  // namespace

bool ReportedRate::take(const calls::TracedCall& call) {
    const auto whole = static_cast<double>(calls_per_second_);
    const std::uint64_t now_ns = call.end_ns;
    if (filled_ns_ == 0) room_ = whole;
    if (filled_ns_ != 0 && now_ns > filled_ns_)
        room_ = std::min(whole, room_ + whole * static_cast<double>(now_ns - filled_ns_) / 1e9);
    filled_ns_ = std::max(filled_ns_, now_ns);
    ++came_;
    if (room_ < 1) return false;
    --room_;
    return true;
}

std::optional<std::chrono::nanoseconds> ReportedRate::look(std::uint64_t now_ns) {
    if (looked_ns_ == 0) looked_ns_ = now_ns;
    if (now_ns - looked_ns_ < look_ns) return std::nullopt;
    const double rate = static_cast<double>(came_) * 1e9 / static_cast<double>(now_ns - looked_ns_);
    looked_ns_ = now_ns;
    came_ = 0;
    auto next = least_;
    if (rate > static_cast<double>(calls_per_second_)) next = std::max(first_minimum, least_ * 2);
    if (rate < static_cast<double>(calls_per_second_) / 4) next = least_ / 2;
    next = std::clamp(next, wanted_, std::max(wanted_, max_minimum));
    if (next == least_) return std::nullopt;
    least_ = next;
    return least_;
}

}  // namespace lagtrap::daemon
