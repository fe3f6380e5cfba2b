#include "trace/merge/confined_merge.hpp"

#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "sandbox/confinement.hpp"
#include "sandbox/file_broker.hpp"
#include "sandbox/machine_root.hpp"
#include "trace/logs/awaited_file.hpp"
#include "trace/names/named_files.hpp"
#include "trace/names/package_versions.hpp"

namespace lagtrap::trace {
namespace {

constexpr int not_confined = 4;
constexpr std::uint64_t memory_bytes = 4ULL << 30;  // address space; files are mapped
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
        std::fprintf(stderr, "lagtrap-merge: could not be confined: %s\n",
                     confined.error().message.c_str());
        return not_confined;
    }
    BrokeredFiles files(std::move(socket));
    use_file_access(&files);
    try {
        return merge();
    } catch (const std::bad_alloc&) {
        std::fputs("lagtrap-merge: the capture takes more memory than allowed\n", stderr);
        return 1;
    }
}

// The user of the process in a path below /proc.
std::optional<std::uint32_t> user_of(const std::filesystem::path& path) {
    const std::string& text = path.native();
    constexpr std::string_view start = "/proc/";
    const std::size_t end = text.find('/', start.size());
    struct stat facts {};
    if (!text.starts_with(start) || end == std::string::npos ||
        ::stat(text.substr(0, end).c_str(), &facts) != 0)
        return std::nullopt;
    return facts.st_uid;
}

// The files that the recording names. Whoever waits for the merge can see which one blocks it.
class Opening : public BrokeredPrograms {
  public:
    ProgramAccess access(const std::filesystem::path& path) override { return named.access(path); }
    Result<UniqueFd> open(const std::filesystem::path& path, ProgramAccess access) override {
        if (awaited) awaited->set(path, user_of(path));
        auto opened = BrokeredPrograms::open(path, access);
        if (awaited) awaited->clear();
        return opened;
    }
    bool may_read(const std::filesystem::path& path) override { return is_package_file(path); }

    NamedFiles named;
    std::optional<AwaitedFileNote> awaited;
};

Result<FileBroker> make_broker(const std::filesystem::path& capture,
                               const std::filesystem::path& output, const std::string& session_id,
                               Programs programs, const std::shared_ptr<Opening>& opening) {
    BrokerPolicy policy;
    policy.folders = {{capture, ""}, {output, session_id}};
    policy.readable = {"/proc/self/maps", "/sys/kernel/notes", "/proc/kallsyms",
                       "/proc/sys/kernel/random/boot_id"};
    for (const char* const fact :
         {"etc/machine-id", "etc/os-release", "etc/passwd", "proc/cpuinfo", "proc/meminfo"})
        policy.readable.push_back(machine_root() / fact);
    if (programs == Programs::Opened) policy.programs = opening;
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

Result<int> merge_confined(const std::filesystem::path& capture,
                           const std::filesystem::path& output, const std::string& session_id,
                           Programs programs, const std::function<int()>& merge) {
    const pid_t daemon = ::getppid();  // ask before confinement
    const auto opening = std::make_shared<Opening>();
    TRY_ASSIGN(FileBroker broker, make_broker(capture, output, session_id, programs, opening));
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return system_error("socketpair");
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
    // If there is no space for the note, nobody learns which file held a merge up.
    if (auto note = AwaitedFileNote::create(capture)) opening->awaited.emplace(std::move(*note));
    // Only what it takes to open other users' files.
    TRY(keep_capabilities({CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CAP_SYS_PTRACE, CAP_SYS_ADMIN,
                           CAP_SYSLOG, CAP_KILL}));
    Confinement confinement;
    confinement.file_bytes = file_bytes;
    confinement.messages = true;
    confinement.opens_files = true;
    TRY(confine_process(confinement));
    if (programs == Programs::Opened) {
        TRY_ASSIGN(opening->named, NamedFiles::of_capture(capture, daemon));
    }
    broker.serve_all(own.get());
    own.reset();
    return end_as_child_did(child);
}

}  // namespace lagtrap::trace
