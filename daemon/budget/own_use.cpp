#include "daemon/budget/own_use.hpp"

#include <bpf/bpf.h>
#include <sys/resource.h>

namespace lagtrap::daemon {

std::uint64_t daemon_cpu_ns() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto ns = [](const timeval& t) {
        return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000ULL +
               static_cast<std::uint64_t>(t.tv_usec) * 1000ULL;
    };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
}

ProgramUse use_of_programs(const std::vector<int>& program_fds) {
    ProgramUse use;
    for (const int fd : program_fds) {
        bpf_prog_info info{};
        __u32 size = sizeof(info);
        if (bpf_prog_get_info_by_fd(fd, &info, &size) != 0) continue;
        use.run_time_ns += info.run_time_ns;
        use.runs += info.run_cnt;
    }
    return use;
}

}  // namespace lagtrap::daemon
