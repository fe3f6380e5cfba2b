// The file behind a mapping of a process, and its build id as the logs have it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "bpf/records.h"
#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// The regular file that was mapped, for reading: by map_files, which is that very file though it was deleted or lies in
// another mount namespace; else by its path below the process's root, else by its path, where the inode is the mapping's
// (if that has one; if not, the caller has a build id to compare). `process` is "/proc/PID". Not valid: it is gone, or
// `path` is none.
[[nodiscard]] UniqueFd open_mapped_file(const std::filesystem::path& process, const lagtrap_mapping& mapping,
                                        const std::string& path);

// At most 20 bytes of it count; what is no build id leaves the mapping without.
void set_build_id(lagtrap_mapping& mapping, std::string_view hexadecimal);
// Hexadecimal; empty where the mapping has none.
[[nodiscard]] std::string build_id_of(const lagtrap_mapping& mapping);

}  // namespace lagtrap::daemon
