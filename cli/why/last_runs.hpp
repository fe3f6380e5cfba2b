// When threads last had a CPU, according to /proc/PID/task/TID/sched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

namespace lagtrap::cli {

// By thread, in nanoseconds of the kernel's scheduler clock. Empty if the kernel does not report
// it.
using LastRuns = std::map<std::uint32_t, std::uint64_t>;

[[nodiscard]] LastRuns last_runs_of(std::uint32_t pid,
                                    const std::filesystem::path& proc_root = "/proc");

// The current time of that clock; 0 if unknown.
[[nodiscard]] std::uint64_t scheduler_clock_ns(const std::filesystem::path& proc_root = "/proc");

// For each thread that did not run between `before` and `after`: the time from when it last had a
// CPU to `now_ns`.
[[nodiscard]] std::map<std::uint32_t, std::uint64_t> stopped_before(const LastRuns& before,
                                                                    const LastRuns& after,
                                                                    std::uint64_t now_ns);

}  // namespace lagtrap::cli
