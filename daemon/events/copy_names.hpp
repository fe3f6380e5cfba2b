// What tells one copy of a watched file, and one of its processes, from another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "daemon/probes/real_file.hpp"
#include "daemon/processes/process_party.hpp"

namespace lagtrap::daemon {

// The mount namespace of a process, by its folder in /proc; 0 if the process is gone.
[[nodiscard]] std::uint64_t mounts_of(const std::filesystem::path& process);

// "/proc/PID".
[[nodiscard]] std::filesystem::path folder_of(std::uint32_t pid);

// A name that no other open file has.
[[nodiscard]] std::string name_of_copy(const std::string& path, const RealFile& real);

// Whose the process is; unknown_party if it is gone.
[[nodiscard]] Party party_of_process(std::uint32_t pid);

}  // namespace lagtrap::daemon
