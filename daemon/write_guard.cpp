#include "daemon/write_guard.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <future>
#include <utility>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

// Sent to the guard's thread alone, which has them blocked and takes them by waiting.
int lease_signal() { return SIGRTMIN + 4; }
int stop_signal() { return SIGRTMIN + 5; }

sigset_t own_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, lease_signal());
    sigaddset(&signals, stop_signal());
    return signals;
}

}  // namespace

WriteGuard::WriteGuard(std::vector<std::string> paths, OnWrite on_write) : on_write_(std::move(on_write)) {
    std::promise<void> taken;
    thread_ = std::thread([this, &taken, paths = std::move(paths)] {
        const sigset_t signals = own_signals();
        ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        take_leases(paths);
        taken.set_value();
        serve();
    });
    taken.get_future().wait();
}

WriteGuard::~WriteGuard() {
    stopping_.store(true);
    ::pthread_kill(thread_.native_handle(), stop_signal());
    thread_.join();
}

bool WriteGuard::written(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return written_.contains(path);
}

void WriteGuard::take_leases(const std::vector<std::string>& paths) {
    const f_owner_ex owner{F_OWNER_TID, static_cast<pid_t>(::syscall(SYS_gettid))};
    for (const std::string& path : paths) {
        auto file = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        if (!file) continue;
        const int fd = file->get();
        if (::fcntl(fd, F_SETSIG, lease_signal()) != 0 || ::fcntl(fd, F_SETOWN_EX, &owner) != 0) continue;
        if (::fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
            leases_[fd] = {path, std::move(*file)};
        } else if (errno == EAGAIN) {
            const std::lock_guard lock(mutex_);
            written_[path] = true;
        }
    }
}

void WriteGuard::serve() {
    const sigset_t signals = own_signals();
    while (!stopping_.load()) {
        siginfo_t signal{};
        if (::sigwaitinfo(&signals, &signal) != lease_signal()) continue;
        const auto found = leases_.find(signal.si_fd);
        if (found == leases_.end()) continue;
        {
            const std::lock_guard lock(mutex_);
            written_[found->second.first] = true;
        }
        on_write_(found->second.first);
        leases_.erase(found);  // closing gives the lease back
    }
}

}  // namespace lagtrap::daemon
