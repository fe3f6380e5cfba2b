// What fills the memory of a process's control group, and which of the group's processes most.
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

// Of the group around the process that is nearest to its limit; nullopt where none has a limit, or the process has ended. Looks
// at a few hundred processes of the group at most.
[[nodiscard]] std::optional<GroupMemory> read_group_memory(std::uint32_t pid,
                                                           const std::filesystem::path& processes = "/proc",
                                                           const std::filesystem::path& groups = "/sys/fs/cgroup");

// The record, as of `at_ns`.
[[nodiscard]] RecordBuffer record_of(const GroupMemory& memory, std::uint64_t at_ns);

}  // namespace lagtrap::daemon
