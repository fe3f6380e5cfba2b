// A request spins on the program's own lock and yields, while a low-priority thread on the same CPU
// holds it.
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <semaphore>
#include <thread>

#include "program.hpp"

namespace {

std::atomic<bool> taken = false;
std::binary_semaphore compaction_wanted(0);
std::binary_semaphore compaction_begun(0);

PLANTED void take() {
    while (taken.exchange(true)) ::sched_yield();
}

PLANTED void compact() {
    compaction_begun.release();
    cases::compute_ms(150);
}

void run_compactor() {
    cases::name_thread("compactor");
    if (::setpriority(PRIO_PROCESS, 0, 5) != 0) cases::give_up("setpriority");
    compaction_wanted.acquire();
    take();
    compact();
    taken = false;
}

PLANTED void handle_request() {
    take();
    taken = false;
}

}  // namespace

int main() {
    cases::stay_on_last_cpu();
    std::thread compactor(run_compactor);
    const int status = cases::serve([](bool slow) {
        if (slow) {
            compaction_wanted.release();
            compaction_begun.acquire();
        }
        handle_request();
    });
    compactor.join();
    return status;
}
