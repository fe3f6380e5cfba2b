// Finds the processes that run a program or use a library, and those that run another file of that
// name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lagtrap::cli {

struct ProgramProcess {
    int pid = 0;
    std::string path;        // of its file, as the process sees it
    bool same_file = false;  // the file that was asked for
    bool deleted = false;    // its file was removed or replaced after it started
    // it sees another file system: a container, or a service with its own mounts
    bool elsewhere = false;
    std::string control_group;  // innermost; empty for the root group
};

struct ProgramProcesses {
    std::vector<ProgramProcess> found;  // by pid; those with another file have at least its name
    std::size_t hidden = 0;             // processes that the caller may not inspect
};

// Examines every process below `proc_root`: its program first, then its mappings if no program is
// the file or has its name.
[[nodiscard]] ProgramProcesses processes_of(const std::filesystem::path& file,
                                            const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::cli
