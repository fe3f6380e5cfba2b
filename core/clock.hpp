// The clocks used in recordings and budgets. Time stamps of BPF programs and perf events are
// CLOCK_MONOTONIC.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

namespace lagtrap {

// Nanoseconds of CLOCK_MONOTONIC, as bpf_ktime_get_ns() counts them.
[[nodiscard]] inline std::uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// CPU time of the calling thread.
[[nodiscard]] inline std::chrono::nanoseconds thread_cpu_time() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// The same moment on three clocks, read one after the other, within microseconds.
struct ClockSnapshot {
    std::uint64_t monotonic_ns = 0;
    std::uint64_t boottime_ns = 0;
    std::uint64_t realtime_ns = 0;

    [[nodiscard]] static ClockSnapshot take();
    // The wall-clock time of a monotonic time stamp.
    [[nodiscard]] std::uint64_t to_realtime_ns(std::uint64_t monotonic) const {
        return realtime_ns + (monotonic - monotonic_ns);
    }
};

// Formats nanoseconds since the epoch as UTC: "2026-11-21T04:33:09.123456Z".
[[nodiscard]] std::string format_utc(std::uint64_t realtime_ns);

}  // namespace lagtrap
