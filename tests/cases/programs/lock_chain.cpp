// A request waits for the cache, whose holder waits for the store, whose holder waits for the
// journal, whose holder computes a checksum.
#include <mutex>
#include <semaphore>
#include <thread>

#include "program.hpp"

namespace {

std::mutex cache_lock;
std::mutex store_lock;
std::mutex journal_lock;
std::binary_semaphore begin(0);
std::binary_semaphore journal_held(0);
std::binary_semaphore store_held(0);
std::binary_semaphore cache_held(0);
volatile int served = 0;

PLANTED void sum_journal() { cases::compute_ms(500); }

PLANTED void append_to_journal() {
    const std::lock_guard lock(journal_lock);
    served = served + 1;
}

PLANTED void read_store() {
    const std::lock_guard lock(store_lock);
    served = served + 1;
}

PLANTED void read_cache() {
    const std::lock_guard lock(cache_lock);
    served = served + 1;
}

PLANTED void handle_request() {
    read_cache();
    served = served + 1;
}

void run_journal() {
    cases::name_thread("journal");
    begin.acquire();
    const std::lock_guard lock(journal_lock);
    journal_held.release();
    sum_journal();
}

void run_store() {
    cases::name_thread("store");
    journal_held.acquire();
    const std::lock_guard lock(store_lock);
    store_held.release();
    append_to_journal();
}

void run_cache() {
    cases::name_thread("cache");
    store_held.acquire();
    const std::lock_guard lock(cache_lock);
    cache_held.release();
    read_store();
}

}  // namespace

int main() {
    std::thread journal(run_journal);
    std::thread store(run_store);
    std::thread cache(run_cache);
    const int status = cases::serve([](bool slow) {
        if (slow) {
            begin.release();
            cache_held.acquire();
        }
        handle_request();
    });
    journal.join();
    store.join();
    cache.join();
    return status;
}
