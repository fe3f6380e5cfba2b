// Wraps perf_event_open(2), for which the C library has no function.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include "core/unique_fd.hpp"

namespace lagtrap {

// Opens an event with close-on-exec, in no group. `pid` -1 means all processes, `cpu` -1 all CPUs.
// Sets `attributes.size`. Returns an invalid descriptor and sets errno if the kernel refuses.
[[nodiscard]] UniqueFd open_perf_event(perf_event_attr attributes, pid_t pid, int cpu);

}  // namespace lagtrap
