// Watches a trace until something ends it: the same for calls, functions and objects.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "core/clock.hpp"
#include "daemon/control/answer_lines.hpp"
#include "daemon/processes/traced_process.hpp"

namespace lagtrap::daemon {

struct TraceState {
    bool unwanted = false;  // nobody wants more lines
    bool stopping = false;  // lagtrapd is
    bool exited = false;    // the process
    std::chrono::nanoseconds elapsed{0};
};

struct TraceLimits {
    std::chrono::nanoseconds length{0};  // 0: no limit
    const char* unwanted = "stopped";    // the reason if nobody wants more lines
};

// Why the trace ends now; empty if it continues.
[[nodiscard]] inline std::string end_of_trace(const TraceState& now, const TraceLimits& limits) {
    if (now.unwanted) return limits.unwanted;
    if (now.stopping) return "lagtrapd is stopping";
    if (now.exited) return "the process exited";
    if (limits.length.count() != 0 && now.elapsed >= limits.length) return "time limit reached";
    return {};
}

// What a running trace depends on.
struct TraceWatch {
    const AnswerLines& answer;
    const TracedProcess& process;
    const std::atomic<bool>& stop;
    std::uint64_t began_ns;  // CLOCK_MONOTONIC
    TraceLimits limits;

    // Calls `look` until something ends the trace, and returns the reason. `look` waits a moment
    // for calls; it may return a reason of its own, else an empty string.
    template <typename Look>
    [[nodiscard]] std::string run(Look look) const {
        for (;;) {
            std::string reason = look();
            if (reason.empty())
                reason = end_of_trace({answer.is_unwanted(), stop.load(), process.has_ended(),
                                       std::chrono::nanoseconds(monotonic_ns() - began_ns)},
                                      limits);
            if (!reason.empty()) return reason;
        }
    }
};

}  // namespace lagtrap::daemon
