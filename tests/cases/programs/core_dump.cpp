// A supervisor waits for a worker that dumps core.
#include <sys/resource.h>
#include <sys/wait.h>

#include "program.hpp"

namespace {

constexpr std::size_t memory_bytes = 400U << 20;

PLANTED void restart_worker(bool crashes) {
    const pid_t worker = ::fork();
    if (worker < 0) cases::give_up("fork");
    if (worker == 0) {
        if (!crashes) ::_exit(0);
        void* const memory = std::malloc(memory_bytes);
        if (memory == nullptr) cases::give_up("malloc");
        for (std::size_t at = 0; at < memory_bytes; at += 512)
            static_cast<volatile char*>(memory)[at] = 1;
        std::abort();
    }
    // Not the last call of the function, which would be a jump.
    if (::waitpid(worker, nullptr, 0) != worker) cases::give_up("waitpid");
}

}  // namespace

// The dump goes to the current folder.
int main() {
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_CORE, &all) != 0) cases::give_up("setrlimit");
    return cases::serve([](bool slow) { restart_worker(slow); });
}
