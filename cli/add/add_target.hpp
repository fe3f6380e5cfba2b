// The subject of `lagtrap add`: a program, a process or a unit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/programs/preset_matches.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

struct AddTarget {
    std::string program;  // path of its file, as its processes see it
    // path for the settings: the link used to start it, or `program`
    std::string name;
    std::string unit;                      // "nginx.service", if the user named a unit
    std::vector<MappedProcess> processes;  // currently running it
    // They run a file that was removed or replaced after they started; `program` may lead to
    // another one.
    bool outdated = false;
};

// Where the calling process can open the program's file as `process` has it: its place in /proc.
[[nodiscard]] std::filesystem::path file_of(const AddTarget& target, const MappedProcess& process);
// The same for its first process; if it has none, the program.
[[nodiscard]] std::filesystem::path readable_file(const AddTarget& target);

// Resolves `text`: a process id, a program path, a unit ("nginx.service"), or the name of a
// process, a unit or a program in PATH. If a unit runs several programs, the one with the most
// processes counts. ErrorKind::NotFound says where it looked.
[[nodiscard]] Result<AddTarget> find_target(const std::string& text,
                                            const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::cli
