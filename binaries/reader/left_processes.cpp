#include "binaries/reader/left_processes.hpp"

#include <sys/wait.h>

namespace lagtrap::binaries {

std::size_t LeftProcesses::count() {
    std::erase_if(pids_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
    return pids_.size();
}

}  // namespace lagtrap::binaries
