// When threads last had a CPU, as the kernel says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

namespace lagtrap::cli {

// By thread, in nanoseconds of the kernel's scheduler clock. Empty on kernels that do not tell.
using LastRuns = std::map<std::uint32_t, std::uint64_t>;

[[nodiscard]] LastRuns last_runs_of(std::uint32_t pid, const std::filesystem::path& proc_root = "/proc");

// The same of this thread, which runs now.
[[nodiscard]] std::uint64_t scheduler_clock_ns(const std::filesystem::path& proc_root = "/proc");

// Of the threads that have not run between two looks: how long before `now_ns` they had stopped.
[[nodiscard]] std::map<std::uint32_t, std::uint64_t> stopped_before(const LastRuns& before, const LastRuns& after,
                                                                    std::uint64_t now_ns);

}  // namespace lagtrap::cli
