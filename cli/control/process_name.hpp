// Finds processes by id, name or unit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap::cli {

// `text` is an id, or the name of a program or of a process as `ps -e` shows it.
// ErrorKind::NotFound if there is none; Invalid, with a list of ids, if there are several.
[[nodiscard]] Result<std::uint32_t> find_process(const std::string& text,
                                                 const std::filesystem::path& proc_root = "/proc");

// Processes with this name, as above; ascending.
[[nodiscard]] std::vector<std::uint32_t> processes_named(
    const std::string& name, const std::filesystem::path& proc_root = "/proc");

// Processes in the control group of a systemd unit, such as "nginx.service", or below it;
// ascending.
[[nodiscard]] std::vector<std::uint32_t> processes_of_unit(
    const std::string& unit, const std::filesystem::path& proc_root = "/proc");

// Whether `process`, a folder such as /proc/123, is one of them.
[[nodiscard]] bool is_in_unit(const std::filesystem::path& process, const std::string& unit);

}  // namespace lagtrap::cli
