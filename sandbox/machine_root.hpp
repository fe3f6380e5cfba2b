// Translates between paths of the machine and of this process; they differ inside a container.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace lagtrap {

// "/", or the value of LAGTRAP_MACHINE_ROOT at the first call; "/host" in our container image.
[[nodiscard]] const std::filesystem::path& machine_root();

// Where a process that sees the machine's files below `root` finds the machine's `path`. Paths in
// /proc and relative paths are unchanged.
[[nodiscard]] std::filesystem::path on_machine(const std::filesystem::path& path,
                                               const std::filesystem::path& root = machine_root());

// The reverse: the machine's path of `place`.
[[nodiscard]] std::filesystem::path name_on_machine(
    const std::filesystem::path& place, const std::filesystem::path& root = machine_root());

// stat(2) of the machine's `path`, with links resolved as on the machine. On failure, nullopt and
// errno. May block on the file system.
[[nodiscard]] std::optional<struct stat> facts_on_machine(const std::filesystem::path& path);

// The machine's path with all links resolved; empty if there is no such file. May block on the file
// system.
[[nodiscard]] std::filesystem::path real_path_on_machine(const std::filesystem::path& path);

// Whether /proc shows every process of the machine with the kernel's own numbers. False in a
// container with its own pid namespace.
[[nodiscard]] bool sees_all_processes();

}  // namespace lagtrap
