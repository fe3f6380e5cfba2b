// Where this process finds the files of the machine: within a container its own root folder is another than the machine's.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace lagtrap {

// "/", or what the environment variable LAGTRAP_MACHINE_ROOT says when it is first asked for: in our image "/host".
[[nodiscard]] const std::filesystem::path& machine_root();

// Where a process that has the machine's files below `root` finds what the machine has at `path`. Paths in /proc, and relative
// ones, stay.
[[nodiscard]] std::filesystem::path on_machine(const std::filesystem::path& path,
                                               const std::filesystem::path& root = machine_root());

// The machine's name of what this process finds at `place`: the other way round.
[[nodiscard]] std::filesystem::path name_on_machine(const std::filesystem::path& place,
                                                    const std::filesystem::path& root = machine_root());

// stat(2) of what the machine has at `path`: links lead to where they do there. nullopt: errno says why not. May wait for
// the file system.
[[nodiscard]] std::optional<struct stat> facts_on_machine(const std::filesystem::path& path);

// The machine's name for it, with no link on the way; empty: there is no such file. May wait for the file system.
[[nodiscard]] std::filesystem::path real_path_on_machine(const std::filesystem::path& path);

// Whether /proc has every process of the machine, under the number by which the kernel tells of it: not within a namespace
// of processes of a container's own.
[[nodiscard]] bool sees_all_processes();

}  // namespace lagtrap
