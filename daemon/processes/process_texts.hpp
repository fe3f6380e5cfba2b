// Converts what /proc/PID says about a process to records of the rundown log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "bpf/records.h"
#include "core/result.hpp"
#include "daemon/processes/command_line_mask.hpp"
#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {

// Appends a lagtrap_process record with its program, command line, control group, and the name it
// was started by. Appends nothing for a kernel thread or a process that is gone. `process` is
// "/proc/PID".
void describe_process(const std::filesystem::path& process, std::uint32_t pid,
                      CommandLines command_lines, RecordBuffer& records);

// The control group that tells what the process belongs to: of version 2, else systemd's own, else
// the first below a root. Empty if the process is in the root group or gone.
[[nodiscard]] std::string control_group_of(const std::filesystem::path& process);

// Visits the executable mappings in the order of /proc/PID/maps. `path` is valid during the call.
// Reads the file piece by piece. Stops if `visit` returns false.
using OnMapping = std::function<bool(const lagtrap_mapping& mapping, std::string_view path)>;
void for_each_code_mapping(const std::filesystem::path& process, std::uint32_t pid,
                           const OnMapping& visit);

// Where a process context (process_context.hpp) is mapped; nullopt if none is.
[[nodiscard]] std::optional<std::uint64_t> context_mapping_of(const std::filesystem::path& process);

// The real user. ErrorKind::NotFound or Vanished: the process is gone.
[[nodiscard]] Result<std::uint32_t> user_of(const std::filesystem::path& process);

}  // namespace lagtrap::daemon
