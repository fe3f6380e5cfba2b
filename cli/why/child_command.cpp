#include "cli/why/child_command.hpp"

#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

std::optional<unsigned> number_in_environment(const char* name) {
    const char* const text = std::getenv(name);
    if (text == nullptr) return std::nullopt;
    const std::string_view digits(text);
    unsigned number = 0;
    const auto [end, failed] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failed != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return number;
}

// Returns false on failure.
bool become_invoking_user() {
    const auto uid = number_in_environment("SUDO_UID"), gid = number_in_environment("SUDO_GID");
    if (::geteuid() != 0 || !uid || !gid || *uid == 0) return true;
    const passwd* const user = ::getpwuid(*uid);
    if (user != nullptr && ::initgroups(user->pw_name, *gid) != 0) return false;
    if (user == nullptr && ::setgroups(0, nullptr) != 0) return false;
    if (::setgid(*gid) != 0 || ::setuid(*uid) != 0) return false;
    if (user == nullptr) return true;
    ::setenv("HOME", user->pw_dir, 1);
    ::setenv("USER", user->pw_name, 1);
    ::setenv("LOGNAME", user->pw_name, 1);
    return true;
}

void forget_own_limits() {
    rlimit memory{};
    if (::getrlimit(RLIMIT_AS, &memory) == 0) {
        memory.rlim_cur = memory.rlim_max;
        ::setrlimit(RLIMIT_AS, &memory);
    }
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM}) ::signal(signal, SIG_DFL);
}

[[noreturn]] void become(const std::vector<std::string>& words, int link) {
    forget_own_limits();
    char go = 0;
    while (::recv(link, &go, 1, 0) < 0 && errno == EINTR) {
    }
    if (go == 0) ::_exit(0);  // the owner has ended
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    if (become_invoking_user()) ::execvp(arguments.front(), arguments.data());
    const int failure = errno;
    (void)::send(link, &failure, sizeof failure, MSG_NOSIGNAL);
    ::_exit(127);
}

}  // namespace

Result<ChildCommand> ChildCommand::prepare(const std::vector<std::string>& words) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return system_error("running " + printable(words.front()));
    UniqueFd ours(ends[0]), theirs(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) return system_error("running " + printable(words.front()));
    if (child == 0) {
        ours = UniqueFd();
        become(words, theirs.get());
    }
    UniqueFd end(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    return ChildCommand(printable(words.front()), child, std::move(ours), std::move(end));
}

ChildCommand::ChildCommand(ChildCommand&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      link_(std::move(other.link_)),
      end_(std::move(other.end_)),
      status_(other.status_) {}

ChildCommand::~ChildCommand() {
    link_ = UniqueFd();
    if (pid_ > 0) wait();
}

Status ChildCommand::go() {
    const char go = 1;
    int failure = 0;
    if (::send(link_.get(), &go, 1, MSG_NOSIGNAL) != 1) return system_error("running " + name_);
    ssize_t size = 0;
    while ((size = ::recv(link_.get(), &failure, sizeof failure, MSG_WAITALL)) < 0 &&
           errno == EINTR) {
    }
    link_ = UniqueFd();
    if (size == 0) return success();
    return system_error("running " + name_, failure);
}

bool ChildCommand::ends_within(std::chrono::nanoseconds time) {
    if (status_) return true;
    pollfd end{end_.get(), POLLIN, 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(time).count();
    if (::poll(&end, 1, static_cast<int>(ms)) <= 0) return false;
    wait();
    return true;
}

void ChildCommand::wait() {
    if (status_) return;
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = status;
}

int ChildCommand::exit_code() const {
    const int status = status_.value_or(0);
    constexpr int first_of_signals = 128;
    return WIFSIGNALED(status) ? first_of_signals + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace lagtrap::cli
