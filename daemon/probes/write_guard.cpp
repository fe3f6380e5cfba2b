#include "daemon/probes/write_guard.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <future>
#include <utility>
#include <vector>

#include "core/child_process.hpp"

namespace lagtrap::daemon {
namespace {

// These signals are sent only to the guard's thread, which blocks them. The kernel sends the second
// one without a descriptor if the user's signal queue is full (send_sigio_to_task() in fs/fcntl.c).
// It would end a process that does not block it.
int lease_signal() { return SIGRTMIN + 4; }
constexpr int overflow_signal = SIGIO;

sigset_t own_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, lease_signal());
    sigaddset(&signals, overflow_signal);
    return signals;
}

}  // namespace

WriteGuard::WriteGuard(OnWrite on_write) : on_write_(std::move(on_write)) {
    std::promise<void> ready;
    thread_ = std::thread([this, &ready] {
        const sigset_t signals = own_signals();
        ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        signals_.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
        thread_id_ = static_cast<pid_t>(::syscall(SYS_gettid));
        ready.set_value();
        serve();
    });
    ready.get_future().wait();
}

WriteGuard::~WriteGuard() {
    stop_.notify();
    thread_.join();
    for (const auto& [fd, file] : leases_) (void)::fcntl(fd, F_SETLEASE, F_UNLCK);
}

WriteGuard::Lease WriteGuard::take_lease(const WatchedFile& file) const {
    const int fd = file.fd();
    const f_owner_ex owner{F_OWNER_TID, thread_id_};
    if (::fcntl(fd, F_SETSIG, lease_signal()) != 0 || ::fcntl(fd, F_SETOWN_EX, &owner) != 0)
        return Lease::None;
    if (::fcntl(fd, F_SETLEASE, F_RDLCK) == 0) return Lease::Held;
    return errno == EAGAIN ? Lease::OpenForWriting : Lease::None;
}

void WriteGuard::give_back(const std::string& path) {
    std::erase_if(leases_, [&](const auto& lease) {
        if (lease.second->path() != path) return false;
        (void)::fcntl(lease.first, F_SETLEASE, F_UNLCK);
        return true;
    });
}

// Locks the mutex before taking the lease, so that a lease break finds the file in the table.
WriteGuard::Lease WriteGuard::hold(std::shared_ptr<const WatchedFile> file) {
    const std::lock_guard lock(mutex_);
    give_back(file->path());
    written_.erase(file->path());
    const Lease lease = take_lease(*file);
    if (lease == Lease::OpenForWriting) written_.insert(file->path());
    if (lease == Lease::Held) leases_[file->fd()] = std::move(file);
    return lease;
}

void WriteGuard::release(const std::string& path) {
    const std::lock_guard lock(mutex_);
    give_back(path);
    written_.erase(path);
}

bool WriteGuard::written(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return written_.contains(path);
}

bool WriteGuard::holds(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(leases_.begin(), leases_.end(),
                       [&](const auto& lease) { return lease.second->path() == path; });
}

void WriteGuard::serve() {
    for (;;) {
        std::array<pollfd, 2> waiting{{{signals_.get(), POLLIN, 0}, {stop_.fd(), POLLIN, 0}}};
        if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
        if (waiting[1].revents != 0) return;
        take_signals();
    }
}

void WriteGuard::take_signals() {
    signalfd_siginfo signal{};
    while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
        if (static_cast<int>(signal.ssi_signo) == overflow_signal)
            look_at_all();
        else
            leave(signal.ssi_fd);
    }
}

void WriteGuard::leave(int fd) {
    std::shared_ptr<const WatchedFile> file;
    {
        const std::lock_guard lock(mutex_);
        const auto found = leases_.find(fd);
        // F_GETLEASE does not return F_RDLCK while a lease is being broken. The signal may also be
        // about an earlier file with this descriptor.
        if (found == leases_.end() || ::fcntl(fd, F_GETLEASE) == F_RDLCK) return;
        file = std::move(found->second);
        leases_.erase(found);
        written_.insert(file->path());
    }
    on_write_(file->path());
    await_starting_children();  // they have inherited the probes
    (void)::fcntl(fd, F_SETLEASE, F_UNLCK);
}

void WriteGuard::look_at_all() {
    std::vector<int> fds;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [fd, file] : leases_) fds.push_back(fd);
    }
    for (const int fd : fds) leave(fd);
}

}  // namespace lagtrap::daemon
