// What fills the memory of a process's control group, and which process fills most of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {

struct GroupMemory {
    lagtrap_group_memory record{};  // without its header
    std::string path;
};

// Reads, of the groups that contain the process, the one nearest to its limit. nullopt if none has
// a limit, or if the process has ended. Examines at most a few hundred processes of the group.
[[nodiscard]] std::optional<GroupMemory> read_group_memory(
    std::uint32_t pid, const std::filesystem::path& processes = "/proc",
    const std::filesystem::path& groups = "/sys/fs/cgroup");

// Makes the log record; `at_ns` is CLOCK_MONOTONIC.
[[nodiscard]] RecordBuffer record_of(const GroupMemory& memory, std::uint64_t at_ns);

}  // namespace lagtrap::daemon
