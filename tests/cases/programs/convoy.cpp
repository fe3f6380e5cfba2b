// A request needs the cache, whose lock another thread holds while it rebuilds it, and so do sixty
// workers, which stand before the request in the queue.
#include <atomic>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

#include "program.hpp"

namespace {

constexpr int workers = 60;

std::mutex cache_lock;
std::binary_semaphore rebuild_wanted(0);
std::counting_semaphore<workers> rebuild_begun(0);
std::atomic<int> asking = 0;
volatile int looked_up = 0;

PLANTED void rebuild_cache() { cases::compute_ms(400); }

void run_rebuilder() {
    cases::name_thread("rebuilder");
    rebuild_wanted.acquire();
    const std::lock_guard lock(cache_lock);
    rebuild_begun.release(workers);
    rebuild_cache();
}

PLANTED void look_up() {
    const std::lock_guard lock(cache_lock);
    looked_up = looked_up + 1;
}

void run_worker() {
    cases::name_thread("worker");
    rebuild_begun.acquire();
    ++asking;
    asking.notify_one();
    look_up();
}

PLANTED void handle_request() {
    look_up();
    looked_up = looked_up + 1;
}

}  // namespace

int main() {
    std::thread rebuilder(run_rebuilder);
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i) threads.emplace_back(run_worker);
    const int status = cases::serve([](bool slow) {
        if (slow) {
            rebuild_wanted.release();
            for (int seen = 0; seen < workers; seen = asking) asking.wait(seen);
        }
        handle_request();
    });
    rebuilder.join();
    for (std::thread& thread : threads) thread.join();
    return status;
}
