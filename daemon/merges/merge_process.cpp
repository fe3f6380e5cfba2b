#include "daemon/merges/merge_process.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "core/child_process.hpp"

namespace lagtrap::daemon {
namespace {

constexpr int lowest_priority = 19;

// The child leads its own process group, so that one signal also reaches its helper. A helper that
// outlives a killed daemon must not hold the daemon's sockets, because the next daemon could not
// bind to them.
Result<pid_t> spawn(const std::string& program, const MergeTask& task, int output) {
    ChildOptions options;
    options.arguments = {program};
    if (!task.with_names) options.arguments.emplace_back("--without-names");
    options.arguments.push_back(task.capture.string());
    options.arguments.push_back(task.output.string());
    options.descriptors = {{STDOUT_FILENO, output}, {STDERR_FILENO, output}};
    options.with_environment = true;
    options.own_group = true;
    return start_child(program, options);
}

}  // namespace

Result<MergeProcess> MergeProcess::start(const std::string& program, const MergeTask& task,
                                         int output) {
    TRY_ASSIGN(const pid_t pid, spawn(program, task, output));
    MergeProcess self(pid);
    self.end_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!self.end_.valid()) {
        const Error error = system_error("watching lagtrap-merge");
        self.kill();
        (void)self.wait_for_end();
        return error;
    }
    self.set_nice(lowest_priority);
    return self;
}

// Optional: if refused, the priority does not change.
void MergeProcess::set_nice(int nice) {
    nice_ = nice;
    (void)::setpriority(PRIO_PGRP, static_cast<id_t>(pid_), nice);
}

bool MergeProcess::raise_priority() {
    if (nice_ == 0) return false;
    set_nice(nice_ - 1);
    return true;
}

void MergeProcess::kill() const { (void)::kill(-pid_, SIGKILL); }

int MergeProcess::wait_for_end() const {
    int wait_status = 0;
    while (::waitpid(pid_, &wait_status, 0) < 0 && errno == EINTR) {
    }
    return wait_status;
}

}  // namespace lagtrap::daemon
