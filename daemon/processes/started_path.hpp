// Finds the name by which a program was started. For example, redis-server is a symlink to
// redis-check-rdb, and /proc has the latter name. Accesses files and folders of the process, so
// only helpers may use it (inspector_pool.hpp).
#pragma once

#include <filesystem>
#include <string>

namespace lagtrap::daemon {

// The path under which its program was started, according to its first argument or its name, if the
// file there is the program. The path is as the process of folder `process` (/proc/PID) sees it.
// Empty if it is `program` (the target of /proc/PID/exe) or cannot be determined. `command` is the
// process's first argument, which the process may have changed.
//
// A process cannot direct this to arbitrary places: only paths next to the program, or on the file
// system of the process's root folder, are accessed.
[[nodiscard]] std::string started_path(const std::filesystem::path& process,
                                       const std::string& program, const std::string& command);

}  // namespace lagtrap::daemon
