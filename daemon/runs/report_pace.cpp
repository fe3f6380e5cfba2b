#include "daemon/runs/report_pace.hpp"

#include <algorithm>

namespace lagtrap::daemon {
namespace {

constexpr int gather_ms = 2;
constexpr std::uint64_t few_runs = 4;
constexpr std::uint64_t fast_runs_ns = 500'000;
constexpr std::uint64_t max_wait_ms = 60'000;

int until_due_ms(std::optional<std::uint64_t> due_ns, std::uint64_t now_ns) {
    if (!due_ns) return -1;
    return *due_ns <= now_ns ? 0
                             : static_cast<int>(std::min<std::uint64_t>(
                                   (*due_ns - now_ns) / 1'000'000 + 1, max_wait_ms));
}

}  // namespace

bool ReportPace::runs_come_fast(std::uint64_t taken, bool immediately, std::uint64_t now_ns) {
    const std::uint64_t since_ns = now_ns - std::exchange(read_ns_, now_ns);
    if (immediately || taken == 0) return false;
    return taken >= few_runs || since_ns < fast_runs_ns;
}

int ReportPace::wait_ms(std::optional<std::uint64_t> due_ns, bool runs_accumulate,
                        std::uint64_t now_ns) {
    const int due_ms = until_due_ms(due_ns, now_ns);
    return runs_accumulate && (due_ms < 0 || due_ms > gather_ms) ? gather_ms : due_ms;
}

}  // namespace lagtrap::daemon
