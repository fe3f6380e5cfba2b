// What the daemon itself takes of the machine: processor time of its threads and of its BPF programs.
#pragma once

#include <cstdint>
#include <vector>

namespace lagtrap::daemon {

// Processor time of this process, user and kernel.
[[nodiscard]] std::uint64_t daemon_cpu_ns();

// As the kernel counts while run-time statistics are on (BPF_ENABLE_STATS).
struct ProgramUse {
    std::uint64_t run_time_ns = 0;
    std::uint64_t runs = 0;
};

// Of all programs together; a descriptor that is none counts as nothing.
[[nodiscard]] ProgramUse use_of_programs(const std::vector<int>& program_fds);

}  // namespace lagtrap::daemon
