#include "core/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <shared_mutex>

#include "core/unique_fd.hpp"

extern char** environ;

namespace lagtrap {
namespace {

struct Attributes {
    explicit Attributes(bool own_group) {
        posix_spawnattr_init(&value);
        sigset_t signals;
        sigemptyset(&signals);
        posix_spawnattr_setsigmask(&value, &signals);
        sigfillset(&signals);
        posix_spawnattr_setsigdefault(&value, &signals);
        const int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                          (own_group ? POSIX_SPAWN_SETPGROUP : 0);
        posix_spawnattr_setflags(&value, static_cast<short>(flags));
    }
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;
    ~Attributes() { posix_spawnattr_destroy(&value); }
    posix_spawnattr_t value{};
};

struct FileActions {
    FileActions() { posix_spawn_file_actions_init(&value); }
    FileActions(const FileActions&) = delete;
    FileActions& operator=(const FileActions&) = delete;
    ~FileActions() { posix_spawn_file_actions_destroy(&value); }
    posix_spawn_file_actions_t value{};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

// Shared while a child is being started.
std::shared_mutex& starting() {
    static std::shared_mutex mutex;
    return mutex;
}

}  // namespace

Result<pid_t> start_child(const std::string& program, const ChildOptions& options) {
    int highest = STDERR_FILENO;
    for (const ChildDescriptor& descriptor : options.descriptors)
        highest = std::max(highest, descriptor.its);
    FileActions actions;
    // Duplicate our descriptors to numbers above all of the child's first: one may have the number
    // of another one's target, and dup2() to its own number would leave it close-on-exec.
    std::vector<UniqueFd> moved;
    for (const ChildDescriptor& descriptor : options.descriptors) {
        if (descriptor.ours < 0) {
            posix_spawn_file_actions_addopen(&actions.value, descriptor.its, "/dev/null", O_RDWR,
                                             0);
            continue;
        }
        moved.emplace_back(::fcntl(descriptor.ours, F_DUPFD_CLOEXEC, highest + 1));
        if (!moved.back().valid()) return system_error("start " + program);
        posix_spawn_file_actions_adddup2(&actions.value, moved.back().get(), descriptor.its);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions.value, highest + 1);
    const Attributes attributes(options.own_group);
    std::vector<std::string> words = options.arguments;
    char* nothing = nullptr;
    pid_t pid = -1;
    const std::shared_lock lock(starting());  // posix_spawn() returns when the child has run exec
    const int failed =
        ::posix_spawn(&pid, program.c_str(), &actions.value, &attributes.value,
                      pointers(words).data(), options.with_environment ? environ : &nothing);
    if (failed != 0) return system_error("start " + program, failed);
    return pid;
}

void await_starting_children() { const std::unique_lock lock(starting()); }

}  // namespace lagtrap
