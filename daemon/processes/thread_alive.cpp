#include "daemon/processes/thread_alive.hpp"

#include <unistd.h>

#include <charconv>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

// Field 22 of /proc/PID/task/TID/stat: start time in clock ticks after boot. The name may contain
// anything, so count fields from its last parenthesis.
std::optional<std::uint64_t> started_ticks(const std::string& stat) {
    auto at = stat.rfind(')');
    if (at == std::string::npos) return std::nullopt;
    for (int field = 2; field < 22; ++field) {
        at = stat.find(' ', at + 1);
        if (at == std::string::npos) return std::nullopt;
    }
    std::uint64_t ticks = 0;
    const auto [end, failure] =
        std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), ticks);
    if (failure != std::errc{}) return std::nullopt;
    return ticks;
}

}  // namespace

bool thread_alive(std::uint32_t pid, std::uint32_t tid, std::uint64_t at_ns) {
    const auto stat =
        read_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/stat", 4096);
    if (!stat) return false;
    const auto state_at = stat->rfind(')');
    const bool zombie = state_at != std::string::npos && state_at + 2 < stat->size() &&
                        ((*stat)[state_at + 2] == 'Z' || (*stat)[state_at + 2] == 'X');
    const auto ticks = started_ticks(*stat);
    if (zombie || !ticks) return false;
    const auto clocks = ClockSnapshot::take();
    const std::uint64_t at_boottime_ns = at_ns + (clocks.boottime_ns - clocks.monotonic_ns);
    const std::uint64_t tick_ns =
        1'000'000'000ULL / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    return *ticks * tick_ns <= at_boottime_ns;
}

}  // namespace lagtrap::daemon
