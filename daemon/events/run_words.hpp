// Runs in the words of the log.
#pragma once

#include <filesystem>
#include <string>

#include "bpf/records.h"

namespace lagtrap::daemon {

// Who began a run: "VM Thread (1207) of java (1201, /usr/lib/jvm/bin/java)", or "redis-server (77, /usr/bin/redis-server)"
// where it is the process's first thread. What is no longer known of a process that ended is left out.
[[nodiscard]] std::string words_of_beginner(const lagtrap_run& run, const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::daemon
