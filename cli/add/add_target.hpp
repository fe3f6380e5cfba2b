// What `lagtrap add` is asked about: a program, a process or a unit.
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
    std::string name;     // path that the settings should have: the link that it is started by, or the same
    std::string unit;     // "nginx.service" where a unit was asked for
    std::vector<MappedProcess> processes;  // those that run it now
};

// `text` is the number of a process, a path of a program, a unit ("nginx.service"), or a name: of processes, of a unit, or of a
// program in the folders of PATH. Of several programs in a unit the one with the most processes counts. ErrorKind::NotFound
// says where it was looked for.
[[nodiscard]] Result<AddTarget> find_target(const std::string& text, const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::cli
