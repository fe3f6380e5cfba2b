#include "server/ingest/confinement.hpp"

#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <memory>

namespace lagtrap::server {
namespace {

constexpr rlim_t memory_bytes = 2ULL << 30;
constexpr rlim_t cpu_seconds = 60;

// Sanitizers reserve terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool limits_memory = false;
#else
constexpr bool limits_memory = true;
#endif

// What the language's run-time library needs once everything is open.
constexpr int allowed[] = {
    SCMP_SYS(read),         SCMP_SYS(write),
    SCMP_SYS(lseek),        SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),   SCMP_SYS(close),
    SCMP_SYS(brk),          SCMP_SYS(mmap),
    SCMP_SYS(munmap),       SCMP_SYS(mremap),
    SCMP_SYS(madvise),      SCMP_SYS(mprotect),
    SCMP_SYS(futex),        SCMP_SYS(exit),
    SCMP_SYS(exit_group),   SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday), SCMP_SYS(getrandom),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigaction), SCMP_SYS(sigaltstack),
    SCMP_SYS(getpid),       SCMP_SYS(gettid),
    SCMP_SYS(sched_yield),  SCMP_SYS(restart_syscall),
    SCMP_SYS(poll),         SCMP_SYS(sched_getaffinity),
};

Status limit(__rlimit_resource resource, rlim_t value, const char* what) {
    const rlimit limits{value, value};
    if (::setrlimit(resource, &limits) != 0) return system_error(what);
    return success();
}

struct FreeFilter {
    void operator()(void* filter) const { seccomp_release(filter); }
};

}  // namespace

Status confine_process() {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return system_error("giving up privileges");
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return system_error("giving up core dumps");
    if (limits_memory) TRY(limit(RLIMIT_AS, memory_bytes, "limiting memory"));
    TRY(limit(RLIMIT_CPU, cpu_seconds, "limiting CPU time"));
    TRY(limit(RLIMIT_FSIZE, 0, "limiting files"));
    TRY(limit(RLIMIT_CORE, 0, "limiting core dumps"));
    // What is not allowed fails rather than kills: libraries look for files that they can do without.
    const std::unique_ptr<void, FreeFilter> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
    if (!filter) return system_error("making a system call filter", ENOMEM);
    for (const int call : allowed)
        if (const int code = seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0); code != 0)
            return system_error("making a system call filter", -code);
    if (const int code = seccomp_load(filter.get()); code != 0)
        return system_error("setting the system call filter", -code);
    return success();
}

}  // namespace lagtrap::server
