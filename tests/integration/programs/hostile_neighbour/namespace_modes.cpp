#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "modes.hpp"

namespace hostile {
namespace {

int failed(const char* what) {
    std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
    return 1;
}

void say(const char* what) {
    std::puts(what);
    std::fflush(stdout);
}

bool write_own(const char* path, const std::string& text) {
    const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
    const bool written =
        fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (fd >= 0) ::close(fd);
    return written;
}

bool become(uid_t user) {
    return ::setresgid(user, user, user) == 0 && ::setresuid(user, user, user) == 0;
}

// In a child: executes PROGRAM as that user, with its output to `output`.
[[noreturn]] void run_as(uid_t user, int output, std::span<char* const> program) {
    std::vector<char*> words(program.begin(), program.end());
    words.push_back(nullptr);
    if (become(user) && ::dup2(output, STDOUT_FILENO) >= 0) ::execv(words[0], words.data());
    ::_exit(failed(words[0]));
}

// many-users USERS PROGRAM ARGUMENT...: runs the program once as each of this many users of its own
// user namespace. Prints "unshared" and continues at the first line of input, when somebody has
// mapped the users. Ready when all of them are.
int many_users(std::span<char* const> arguments) {
    if (arguments.size() < 2) return failed("many-users USERS PROGRAM");
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return failed("unshare");
    say("unshared");
    char line[16];
    if (!std::fgets(line, sizeof line, stdin) || !become(0))
        return failed("become root of the namespace");
    const auto users = static_cast<uid_t>(std::strtoul(arguments[0], nullptr, 10));
    for (uid_t user = 1; user <= users; ++user) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) return failed("pipe");
        const pid_t child = ::fork();
        if (child < 0) return failed("fork");
        if (child == 0) run_as(user, ends[1], arguments.subspan(1));
        ::close(ends[1]);
        char first = 0;
        if (::read(ends[0], &first, 1) != 1 || first != 'r')
            return failed("a program that is not ready");
    }
    say("ready");
    for (;;) ::pause();
}

// mount-storm FOLDER: in its own namespace, mounts and unmounts there forever, fifty mounts at a
// time.
int storm_of_mounts(std::span<char* const> arguments) {
    constexpr int at_a_time = 50;
    const std::string user = std::to_string(::getuid()), group = std::to_string(::getgid());
    if (arguments.empty() || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return failed("unshare");
    if (!write_own("/proc/self/setgroups", "deny") ||
        !write_own("/proc/self/uid_map", "0 " + user + " 1") ||
        !write_own("/proc/self/gid_map", "0 " + group + " 1"))
        return failed("map the user");
    say("ready");
    for (;;) {
        for (int i = 0; i < at_a_time; ++i)
            if (::mount("storm", arguments[0], "tmpfs", 0, "size=4k") != 0) return failed("mount");
        for (int i = 0; i < at_a_time; ++i)
            if (::umount2(arguments[0], MNT_DETACH) != 0) return failed("unmount");
    }
}

constexpr NamedMode modes_of_namespaces[] = {{"many-users", many_users},
                                             {"mount-storm", storm_of_mounts}};

}  // namespace

std::span<const NamedMode> namespace_modes() { return modes_of_namespaces; }

}  // namespace hostile
