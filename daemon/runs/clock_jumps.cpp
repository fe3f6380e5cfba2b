#include "daemon/runs/clock_jumps.hpp"

#include <cstdlib>

#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t jumps_kept = 64;
// Smaller differences occur between readings of two clocks on a busy machine.
constexpr std::int64_t min_jump_ns = 20'000'000;

std::int64_t difference(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::int64_t>(a - b);
}

}  // namespace

void ClockJumps::note(const ClockSnapshot& clocks) {
    if (last_.monotonic_ns != 0) {
        const std::int64_t slept_ns = difference(clocks.boottime_ns, clocks.monotonic_ns) -
                                      difference(last_.boottime_ns, last_.monotonic_ns);
        const std::int64_t stepped_ns = difference(clocks.realtime_ns, clocks.boottime_ns) -
                                        difference(last_.realtime_ns, last_.boottime_ns);
        std::uint32_t reasons = 0;
        if (std::abs(slept_ns) >= min_jump_ns) reasons |= trace::DirtySuspended;
        if (std::abs(stepped_ns) >= min_jump_ns) reasons |= trace::DirtyClockStepped;
        if (reasons != 0) {
            jumps_.push_back({last_.monotonic_ns, clocks.monotonic_ns, reasons, last_});
            if (jumps_.size() > jumps_kept) jumps_.pop_front();
        }
    }
    last_ = clocks;
}

std::uint32_t ClockJumps::reasons(std::uint64_t begin_ns, std::uint64_t end_ns) const {
    std::uint32_t reasons = 0;
    for (const Jump& jump : jumps_)
        if (begin_ns <= jump.seen_ns && end_ns >= jump.after_ns) reasons |= jump.reasons;
    return reasons;
}

std::uint64_t ClockJumps::to_realtime_ns(std::uint64_t monotonic_ns) const {
    for (const Jump& jump : jumps_)
        if (monotonic_ns <= jump.after_ns) return jump.before.to_realtime_ns(monotonic_ns);
    return last_.to_realtime_ns(monotonic_ns);
}

ClockSnapshot steady_snapshot() {
    ClockSnapshot best;
    std::uint64_t shortest_ns = ~0ULL;
    for (int i = 0; i < 3; ++i) {
        const ClockSnapshot clocks = ClockSnapshot::take();
        const std::uint64_t took_ns = lagtrap::monotonic_ns() - clocks.monotonic_ns;
        if (took_ns >= shortest_ns) continue;
        shortest_ns = took_ns;
        best = clocks;
    }
    return best;
}

}  // namespace lagtrap::daemon
