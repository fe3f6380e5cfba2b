// Identifies the file of a program as the kernel does for the processes that run it.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>

#include "core/result.hpp"

namespace lagtrap::daemon {

struct ProgramFile {
    std::uint32_t device = 0;  // kernel's dev_t: major << 20 | minor
    std::uint64_t inode = 0;
    auto operator<=>(const ProgramFile&) const = default;
};

// The file at `path`, which is in the view of `process` ("/proc/PID"). The device is that of the
// file's mount: stat(2) has another one for files of btrfs, and of overlays whose layers are in
// several file systems. If the mount is in another view, the device is that of stat(2). Can block
// on the file system.
[[nodiscard]] Result<ProgramFile> program_file_at(
    const std::filesystem::path& path, const std::filesystem::path& process = "/proc/self");

}  // namespace lagtrap::daemon
