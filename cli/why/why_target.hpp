// The processes that `lagtrap why` examines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "core/result.hpp"

namespace lagtrap::cli {

struct WhyTarget {
    std::string name;  // of the unit, or of several processes; empty for a single process
    bool unit = false;
    std::set<std::uint32_t> pids;  // never empty
};

// `text` is a process id, the name of one or more processes, or a systemd unit: "nginx.service", or
// "nginx" if no process has that name.
[[nodiscard]] Result<WhyTarget> find_why_target(const std::string& text,
                                                const std::filesystem::path& proc_root = "/proc");

// Adds the processes that a unit or a name has now.
void add_new_processes(WhyTarget& target, const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::cli
