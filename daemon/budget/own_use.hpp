// CPU time used by the daemon: by its threads and by its BPF programs.
#pragma once

#include <cstdint>
#include <vector>

namespace lagtrap::daemon {

// CPU time of this process, user and system.
[[nodiscard]] std::uint64_t daemon_cpu_ns();

// The kernel updates these only while run-time statistics are on (BPF_ENABLE_STATS).
struct ProgramUse {
    std::uint64_t run_time_ns = 0;
    std::uint64_t runs = 0;
};

// Sum over all programs. Invalid descriptors are ignored.
[[nodiscard]] ProgramUse use_of_programs(const std::vector<int>& program_fds);

}  // namespace lagtrap::daemon
