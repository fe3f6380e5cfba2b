#include "core/perf_event.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace lagtrap {

UniqueFd open_perf_event(perf_event_attr attributes, pid_t pid, int cpu) {
    attributes.size = sizeof(attributes);
    return UniqueFd(static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace lagtrap
