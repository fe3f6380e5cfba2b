#include "daemon/calls/interruptions.hpp"

#include <algorithm>

#include "core/clock.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t several = 3;
// Ignore a host that takes the CPU away most of the time: such a factor is not meaningful.
constexpr double most = 2;

}  // namespace

void Interruptions::watch(std::chrono::nanoseconds length) {
    constexpr std::size_t usual_gap_ns = 200;
    std::vector<std::uint64_t> gaps_ns;
    gaps_ns.reserve(static_cast<std::size_t>(length.count()) / usual_gap_ns + 1);
    // The thread's own time stops while another thread of this machine has the CPU.
    const auto begin = thread_cpu_time();
    for (auto last = begin; last - begin < length;) {
        const auto now = thread_cpu_time();
        gaps_ns.push_back(static_cast<std::uint64_t>((now - last).count()));
        last = now;
    }
    add(gaps_ns);
}

void Interruptions::add(const std::vector<std::uint64_t>& gaps_ns) {
    if (gaps_ns.empty()) return;
    std::vector<std::uint64_t> sorted = gaps_ns;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    const std::uint64_t usual_ns = *middle;
    for (const std::uint64_t gap_ns : gaps_ns) {
        const std::uint64_t undisturbed_ns = gap_ns > several * usual_ns ? usual_ns : gap_ns;
        undisturbed_ns_ += static_cast<double>(undisturbed_ns);
        interrupted_ns_ += static_cast<double>(gap_ns - undisturbed_ns);
    }
}

double Interruptions::factor() const {
    return undisturbed_ns_ > 0 ? std::min(most, 1 + interrupted_ns_ / undisturbed_ns_) : 1;
}

}  // namespace lagtrap::daemon
