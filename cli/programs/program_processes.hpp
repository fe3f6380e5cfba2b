// Which processes run a program or use a library, and which run another file of that name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lagtrap::cli {

struct ProgramProcess {
    int pid = 0;
    std::string path;           // of its file, as the process sees it
    bool same_file = false;     // the file that was asked for
    bool deleted = false;       // its file was removed or replaced since it started
    bool elsewhere = false;     // it has another view of the file system: a container, or a service with one of its own
    std::string control_group;  // the innermost; empty: the root's
};

struct ProgramProcesses {
    std::vector<ProgramProcess> found;  // by pid; others than of the same file have at least its name
    std::size_t hidden = 0;             // processes that the caller may not look at
};

// Looks at every process below `proc_root`: at its program first, and at its mappings where no program has the file or its name.
[[nodiscard]] ProgramProcesses processes_of(const std::filesystem::path& file,
                                            const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::cli
