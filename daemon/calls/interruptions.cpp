#include "daemon/calls/interruptions.hpp"

#include <algorithm>
#include <ctime>

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t several = 3;
// Ignore a host that takes the CPU away most of the time: such a factor is not meaningful.
constexpr double most = 2;

// Counts only the thread's own time, so it stops while another thread of this machine has the CPU.
std::uint64_t thread_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

void Interruptions::watch(std::chrono::nanoseconds length) {
    constexpr std::size_t usual_gap_ns = 200;
    std::vector<std::uint64_t> gaps_ns;
    gaps_ns.reserve(static_cast<std::size_t>(length.count()) / usual_gap_ns + 1);
    const std::uint64_t begin_ns = thread_ns();
    for (std::uint64_t last_ns = begin_ns; last_ns - begin_ns < static_cast<std::uint64_t>(length.count());) {
        const std::uint64_t now_ns = thread_ns();
        gaps_ns.push_back(now_ns - last_ns);
        last_ns = now_ns;
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
