// By which of its file's names a program was started: redis-server is a link to redis-check-rdb, and /proc names the latter.
// Looks at files and folders of the process: for helpers alone (inspector_pool.hpp).
#pragma once

#include <filesystem>
#include <string>

namespace lagtrap::daemon {

// The path, as the process of folder `process` (/proc/PID) sees it, under which its program was started, as its first
// argument or its name says, where the file there is the program's. Empty where that is `program` (what /proc/PID/exe leads
// to), or cannot be told. `command` is the process's first argument, which the process may have changed.
//
// What a process says of itself leads nowhere that a stranger chose: beside the program, or on the file system of the
// process's root folder.
[[nodiscard]] std::string started_path(const std::filesystem::path& process, const std::string& program,
                                       const std::string& command);

}  // namespace lagtrap::daemon
