#include "daemon/processes/process_cpu_time.hpp"

#include <sys/types.h>

#include <ctime>

namespace lagtrap::daemon {

std::optional<std::chrono::nanoseconds> process_cpu_time(std::uint32_t pid) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) != 0 ||
        ::clock_gettime(clock, &time) != 0)
        return std::nullopt;
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace lagtrap::daemon
