// A request waits for the program's own lock in a loop that never yields, while another thread
// holds it.
#include <atomic>
#include <semaphore>
#include <thread>

#include "program.hpp"

namespace {

std::atomic<bool> taken = false;
std::binary_semaphore compaction_wanted(0);
std::binary_semaphore compaction_begun(0);

PLANTED void take() {
    while (taken.exchange(true)) {
        while (taken.load(std::memory_order_relaxed)) __builtin_ia32_pause();
    }
}

PLANTED void compact() {
    compaction_begun.release();
    cases::compute_ms(150);
}

void run_compactor() {
    cases::name_thread("compactor");
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
