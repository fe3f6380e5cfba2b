// By which of its file's names a program was started: redis-server is a link to redis-check-rdb, and /proc names the latter.
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

// The same of a process of which nothing is known yet, else what /proc/PID/exe leads to; empty where that is not known.
[[nodiscard]] std::string program_of(const std::filesystem::path& process);

// What the process, or the thread of folder /proc/PID/task/TID, calls itself; empty where it is gone. Any bytes.
[[nodiscard]] std::string name_of(const std::filesystem::path& process_or_thread);

}  // namespace lagtrap::daemon
