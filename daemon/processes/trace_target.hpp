// The process in which calls, functions or objects are traced.
#pragma once

#include <sys/types.h>

#include <optional>

namespace lagtrap::daemon {

struct TraceTarget {
    pid_t pid = 0;
    // Set if the caller may trace only their own processes: hits count only while the process runs
    // with this user's credentials and without capabilities. nullopt: the caller may trace every
    // process.
    std::optional<uid_t> owner;
};

// `constants` are those of BPF programs that include traced_process.bpf.h. Call it before they are
// loaded.
template <typename Constants>
void set_target(Constants& constants, const TraceTarget& target) {
    constants.target_pid = static_cast<decltype(constants.target_pid)>(target.pid);
    constants.owner_asked = target.owner.has_value();
    constants.owner_uid = target.owner.value_or(0);
}

}  // namespace lagtrap::daemon
