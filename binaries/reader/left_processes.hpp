// Keeps track of killed children that have not exited yet, because the kernel waits for a file
// system.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace lagtrap::binaries {

// Use from one thread at a time.
class LeftProcesses {
  public:
    // `pid` is a child of this process. Nobody else may wait for it from now on.
    void add(pid_t pid) { pids_.push_back(pid); }
    // Reaps those that have exited; returns how many are left.
    [[nodiscard]] std::size_t count();

  private:
    std::vector<pid_t> pids_;
};

}  // namespace lagtrap::binaries
