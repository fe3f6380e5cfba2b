// Children that were killed and have not ended: the kernel does not let them go while a file system keeps them waiting.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace lagtrap::binaries {

// One thread's at a time.
class LeftProcesses {
  public:
    // `pid`, a child of this process, is waited for by nobody else from now on.
    void add(pid_t pid) { pids_.push_back(pid); }
    // Waits for those that have ended meanwhile; how many are left.
    [[nodiscard]] std::size_t count();

  private:
    std::vector<pid_t> pids_;
};

}  // namespace lagtrap::binaries
