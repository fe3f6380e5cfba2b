#include "trace/confined_merge.hpp"

#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <new>

#include "core/confinement.hpp"
#include "core/file_broker.hpp"

namespace lagtrap::trace {
namespace {

constexpr int not_confined = 4;
constexpr std::uint64_t memory_bytes = 4ULL << 30;  // addresses; files are mapped
constexpr std::uint64_t cpu_seconds = 900;
constexpr std::uint64_t file_bytes = 8ULL << 30;

Status confine_child() {
    TRY(drop_privileges());
    Confinement confinement;
    confinement.address_space_bytes = memory_bytes;
    confinement.cpu_seconds = cpu_seconds;
    confinement.file_bytes = file_bytes;
    confinement.messages = true;
    confinement.output_files = true;
    return confine_process(confinement);
}

int run_child(UniqueFd socket, const std::function<int()>& merge) {
    if (const Status confined = confine_child(); !confined) {
        std::fprintf(stderr, "lagtrap-merge: could not be confined: %s\n", confined.error().message.c_str());
        return not_confined;
    }
    BrokeredFiles files(std::move(socket));
    use_file_access(&files);
    try {
        return merge();
    } catch (const std::bad_alloc&) {
        std::fputs("lagtrap-merge: the capture takes more memory than is allowed\n", stderr);
        return 1;
    }
}

Result<FileBroker> make_broker(const std::filesystem::path& capture, const std::filesystem::path& output,
                               const std::string& session_id) {
    BrokerPolicy policy;
    policy.folders = {{capture, ""}, {output, session_id}};
    policy.readable = {"/etc/machine-id", "/etc/os-release",   "/proc/cpuinfo",  "/proc/meminfo",
                       "/proc/self/maps", "/sys/kernel/notes", "/proc/kallsyms", "/proc/sys/kernel/random/boot_id"};
    policy.may_read_program = [](const std::filesystem::path&) { return true; };
    return FileBroker::create(std::move(policy));
}

int end_as_child_did(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 1;
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    (void)::signal(WTERMSIG(status), SIG_DFL);
    (void)::raise(WTERMSIG(status));
    return 1;
}

}  // namespace

Result<int> merge_confined(const std::filesystem::path& capture, const std::filesystem::path& output,
                           const std::string& session_id, const std::function<int()>& merge) {
    TRY_ASSIGN(FileBroker broker, make_broker(capture, output, session_id));
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return system_error("socketpair");
    UniqueFd own(ends[0]);
    UniqueFd its(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) return system_error("fork");
    if (child == 0) {
        own.reset();
        const int status = run_child(std::move(its), merge);
        (void)std::fflush(stdout);
        ::_exit(status);
    }
    its.reset();
    // What opening other users' files needs, and no more.
    TRY(keep_capabilities(
        {CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_SYSLOG, CAP_KILL}));
    Confinement confinement;
    confinement.file_bytes = file_bytes;
    confinement.messages = true;
    confinement.opens_files = true;
    TRY(confine_process(confinement));
    broker.serve_all(own.get());
    own.reset();
    return end_as_child_did(child);
}

}  // namespace lagtrap::trace
