#include "cli/daemons/daemon_keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace lagtrap::cli {
namespace {

struct Task {
    const std::string& program;
    const std::string& settings;
    const std::string& log;
    const std::filesystem::path& folder;
};

// Does not keep the owner's output open: a reader waiting for its end must not wait for the keeper.
void leave_the_owner(const std::string& log) {
    const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::setsid();  // Ctrl-C goes to the owner only, which ends the daemon
}

[[noreturn]] void become_daemon(const Task& task, pid_t keeper) {
    // The owner's memory limit protects its own decoding of recordings; the daemon needs none.
    rlimit memory{};
    if (::getrlimit(RLIMIT_AS, &memory) == 0) {
        memory.rlim_cur = memory.rlim_max;
        ::setrlimit(RLIMIT_AS, &memory);
    }
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != keeper) ::_exit(0);
    ::unsetenv("NOTIFY_SOCKET");
    ::execlp(task.program.c_str(), task.program.c_str(), "--settings", task.settings.c_str(),
             static_cast<char*>(nullptr));
    ::dprintf(STDERR_FILENO, "%s cannot be started: %s", task.program.c_str(),
              std::strerror(errno));
    ::_exit(127);
}

void wait_for_end(pid_t child) {
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
}

// Returns when the owner has ended in any way, or asks for the daemon's end.
void await_owner(int link) {
    char nothing = 0;
    while (::recv(link, &nothing, 1, 0) < 0 && errno == EINTR) {
    }
}

[[noreturn]] void keep(const Task& task, int link) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
    leave_the_owner(task.log);
    constexpr int own_link = 3;
    ::dup2(link, own_link);
    ::close_range(own_link + 1, ~0U, 0);
    ::fcntl(own_link, F_SETFD, FD_CLOEXEC);
    const pid_t keeper = ::getpid();
    // Otherwise the daemon would miss a signal that comes before it stops ignoring them.
    sigset_t signals, before;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGHUP}) sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, &before);
    const pid_t daemon = ::fork();
    if (daemon == 0) {
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
        become_daemon(task, keeper);
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    (void)::send(own_link, &daemon, sizeof daemon, 0);
    const int ended = daemon > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, daemon, 0)) : -1;
    std::array<pollfd, 2> either{{{own_link, POLLIN, 0}, {ended, POLLIN, 0}}};
    while (::poll(either.data(), either.size(), -1) < 0 && errno == EINTR) {
    }
    const bool by_itself = either[1].revents != 0;
    if (daemon > 0 && !by_itself) ::kill(daemon, SIGTERM);
    if (daemon > 0) wait_for_end(daemon);
    if (by_itself) {
        ::shutdown(own_link, SHUT_WR);
        await_owner(own_link);
    }
    std::error_code ignored;
    std::filesystem::remove_all(task.folder, ignored);
    ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<DaemonKeeper>> DaemonKeeper::start(const std::string& program,
                                                          const std::string& settings,
                                                          const std::string& log,
                                                          const std::filesystem::path& folder) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return system_error("starting lagtrapd");
    UniqueFd ours(ends[0]), theirs(ends[1]);
    const Task task{program, settings, log, folder};
    const pid_t child = ::fork();
    if (child < 0) return system_error("starting lagtrapd");
    if (child == 0) keep(task, theirs.get());
    theirs = UniqueFd();
    std::unique_ptr<DaemonKeeper> keeper(new DaemonKeeper(child, std::move(ours)));
    while (::recv(keeper->link_.get(), &keeper->daemon_, sizeof keeper->daemon_, MSG_WAITALL) < 0)
        if (errno != EINTR) return system_error("starting lagtrapd");
    if (keeper->daemon_ <= 0)
        return make_error(ErrorKind::System,
                          "lagtrapd cannot be started: creating its process failed");
    return keeper;
}

DaemonKeeper::~DaemonKeeper() {
    link_ = UniqueFd();
    wait_for_end(keeper_);
}

bool DaemonKeeper::daemon_has_ended() const {
    char nothing = 0;
    return ::recv(link_.get(), &nothing, 1, MSG_DONTWAIT) == 0;
}

Status DaemonKeeper::reload() const {
    if (daemon_has_ended() || ::kill(daemon_, SIGHUP) != 0)
        return make_error(ErrorKind::System, "lagtrapd cannot reload its settings: it has exited");
    return success();
}

}  // namespace lagtrap::cli
