#include "sandbox/confinement.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <pwd.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "core/capabilities.hpp"
#include "core/files.hpp"
#include "core/sanitized.hpp"
#include "core/unique_fd.hpp"

#if LAGTRAP_SANITIZED
namespace {
bool is_confined = false;
}
// LeakSanitizer's check at exit starts a thread. A confined process cannot start one, and would
// exit with a failure.
extern "C" int
__lsan_is_turned_off() {  // NOLINT(bugprone-reserved-identifier): the sanitizer's name
    return is_confined ? 1 : 0;
}
#endif

namespace lagtrap {
namespace {

constexpr uid_t nobody = 65534;

// What the run-time library needs once everything is open. mmap and mprotect have conditional
// rules.
constexpr std::initializer_list<int> always_allowed = {
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(close),
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(getrandom),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(sched_yield),
    SCMP_SYS(poll),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getrusage),
    SCMP_SYS(restart_syscall),
};

constexpr std::initializer_list<int> for_messages = {SCMP_SYS(sendmsg), SCMP_SYS(sendto),
                                                     SCMP_SYS(recvmsg), SCMP_SYS(recvfrom)};

constexpr std::initializer_list<int> for_output_files = {
    SCMP_SYS(pwrite64),     SCMP_SYS(ftruncate), SCMP_SYS(fsync),      SCMP_SYS(fdatasync),
    SCMP_SYS(fchmod),       SCMP_SYS(writev),    SCMP_SYS(getdents64), SCMP_SYS(uname),
    SCMP_SYS(memfd_create), SCMP_SYS(sysinfo),
};

// openat() and ioctl() have conditional rules.
constexpr std::initializer_list<int> for_looking_into_processes = {
    SCMP_SYS(openat2),    SCMP_SYS(readlink), SCMP_SYS(readlinkat),        SCMP_SYS(statx),
    SCMP_SYS(getdents64), SCMP_SYS(sendfile), SCMP_SYS(name_to_handle_at), SCMP_SYS(memfd_create),
};

constexpr std::initializer_list<int> for_opening_files = {
    SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(renameat), SCMP_SYS(unlinkat),
    SCMP_SYS(fchmod), SCMP_SYS(getcwd),  SCMP_SYS(wait4),
};

Status limit(__rlimit_resource resource, std::uint64_t value, const char* what) {
    const rlimit limits{value, value};
    if (::setrlimit(resource, &limits) != 0) return system_error(what);
    return success();
}

struct FreeFilter {
    void operator()(void* filter) const { seccomp_release(filter); }
};

Status allow(scmp_filter_ctx filter, int call,
             std::initializer_list<scmp_arg_cmp> conditions = {}) {
    const int code = seccomp_rule_add_array(
        filter, SCMP_ACT_ALLOW, call, static_cast<unsigned>(conditions.size()), conditions.begin());
    return code == 0 ? success() : Status(system_error("create a system call filter", -code));
}

Status allow_all(scmp_filter_ctx filter, std::initializer_list<int> calls) {
    for (const int call : calls) TRY(allow(filter, call));
    return success();
}

Status allow_conditional(scmp_filter_ctx filter) {
    const auto own = static_cast<scmp_datum_t>(::getpid());
    for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)})
        TRY(allow(filter, call, {SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)}));
    // So that the process can end itself, as abort() does.
    for (const int call : {SCMP_SYS(kill), SCMP_SYS(tgkill)})
        TRY(allow(filter, call, {SCMP_A0_64(SCMP_CMP_EQ, own, 0)}));
    for (const scmp_datum_t command : {F_GETFD, F_SETFD, F_GETFL, F_DUPFD, F_DUPFD_CLOEXEC})
        TRY(allow(filter, SCMP_SYS(fcntl), {SCMP_A1_64(SCMP_CMP_EQ, command, 0)}));
    return success();
}

// Also allows asking who owns a namespace.
Status allow_looking_into_processes(scmp_filter_ctx filter) {
    TRY(allow_all(filter, for_looking_into_processes));
    for (const scmp_datum_t question : {NS_GET_USERNS, NS_GET_PARENT, NS_GET_OWNER_UID})
        TRY(allow(filter, SCMP_SYS(ioctl), {SCMP_A1_64(SCMP_CMP_EQ, question, 0)}));
    return allow(filter, SCMP_SYS(openat),
                 {SCMP_A2_64(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)});
}

bool may_change_user() {
    const auto own = own_capabilities();
    return own && own->has(CAP_SETUID) && own->has(CAP_SETGID);
}

// Clears all sets: setresuid() leaves them if the process was not root's, or was set to keep them.
Status drop_capabilities() {
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return system_error("drop capabilities");
    return set_own_capabilities({});
}

}  // namespace

void become_first_oom_victim() {
    constexpr std::string_view first = "1000";
    const UniqueFd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    if (score.valid()) (void)write_all(score.get(), first.data(), first.size());
}

Status drop_privileges() {
    become_first_oom_victim();
    if (::geteuid() == 0 && may_change_user()) {
        const passwd* const user = ::getpwnam(confined_user);
        const uid_t uid = user != nullptr && user->pw_uid != 0 ? user->pw_uid : nobody;
        const gid_t gid = user != nullptr && user->pw_gid != 0 ? user->pw_gid : nobody;
        if (::setgroups(0, nullptr) != 0) return system_error("drop groups");
        if (::setresgid(gid, gid, gid) != 0) return system_error("drop the group");
        if (::setresuid(uid, uid, uid) != 0) return system_error("drop root");
    }
    TRY(drop_capabilities());
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return system_error("drop privileges");
    // Keeps other processes of the same user from inspecting this one.
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return system_error("disable core dumps");
    // Must come last: changing the user resets it.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        return system_error("set the parent death signal");
    return success();
}

Status keep_capabilities(std::initializer_list<int> capabilities) {
    TRY_ASSIGN(Capabilities own, own_capabilities());
    std::uint64_t kept = 0;
    for (const int capability : capabilities) kept |= std::uint64_t{1} << capability;
    own.permitted &= kept;
    own.effective &= kept;
    own.inheritable = 0;
    return set_own_capabilities(own);
}

Status confine_process(const Confinement& confinement) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return system_error("drop privileges");
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return system_error("disable core dumps");
    if (!is_sanitized && confinement.address_space_bytes > 0)
        TRY(limit(RLIMIT_AS, confinement.address_space_bytes, "limiting memory"));
    if (confinement.cpu_seconds > 0)
        TRY(limit(RLIMIT_CPU, confinement.cpu_seconds, "limiting CPU time"));
    TRY(limit(RLIMIT_FSIZE, confinement.file_bytes, "limiting files"));
    TRY(limit(RLIMIT_CORE, 0, "limit core dumps"));
    // Forbidden calls fail rather than kill, because libraries look for optional files.
    const std::unique_ptr<void, FreeFilter> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)));
    if (!filter) return system_error("create a system call filter", ENOMEM);
    if (const int code = seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1); code != 0)
        return system_error("create a system call filter for all threads", -code);
    TRY(allow_all(filter.get(), always_allowed));
    TRY(allow_conditional(filter.get()));
    if (confinement.looks_into_processes) {
        TRY(allow_looking_into_processes(filter.get()));
    } else {
        TRY(allow(filter.get(), SCMP_SYS(write)));
    }
    // ThreadSanitizer's background thread may still be starting, and the C library aborts if a
    // thread cannot register.
    if (is_sanitized) TRY(allow_all(filter.get(), {SCMP_SYS(rseq), SCMP_SYS(set_robust_list)}));
    if (confinement.messages) TRY(allow_all(filter.get(), for_messages));
    if (confinement.opens_files) TRY(allow_all(filter.get(), for_opening_files));
    if (confinement.output_files) TRY(allow_all(filter.get(), for_output_files));
    if (const int code = seccomp_load(filter.get()); code != 0)
        return system_error("install the system call filter", -code);
#if LAGTRAP_SANITIZED
    is_confined = true;
#endif
    return success();
}

}  // namespace lagtrap
