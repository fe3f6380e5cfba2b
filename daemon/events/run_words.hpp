// Describes runs for the log.
#pragma once

#include <filesystem>
#include <string>

#include "bpf/records.h"

namespace lagtrap::daemon {

// Who began a run: "VM Thread (1207) of java (1201, /usr/lib/jvm/bin/java)", or "redis-server (77,
// /usr/bin/redis-server)" for a process's first thread. Omits what is not known any more because
// the process ended.
[[nodiscard]] std::string words_of_beginner(const lagtrap_run& run,
                                            const std::filesystem::path& proc_root = "/proc");

}  // namespace lagtrap::daemon
