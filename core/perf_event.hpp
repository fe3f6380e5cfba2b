// perf_event_open(2), which the C library has no function for.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include "core/unique_fd.hpp"

namespace lagtrap {

// Opens an event, closed on exec, in no group. `pid` -1 is all processes, `cpu` -1 all CPUs. `attributes.size` is set here. Not
// valid and errno set if the kernel refuses it.
[[nodiscard]] UniqueFd open_perf_event(perf_event_attr attributes, pid_t pid, int cpu);

}  // namespace lagtrap
