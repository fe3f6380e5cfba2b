// A request needs the index, whose lock another thread holds while it rebuilds the index.
#include <mutex>
#include <semaphore>
#include <thread>

#include "program.hpp"

namespace {

std::mutex index_lock;
std::binary_semaphore rebuild_wanted(0);
std::binary_semaphore rebuild_begun(0);
volatile int answered = 0;

PLANTED void rebuild_index() { cases::compute_ms(400); }

void run_indexer() {
    cases::name_thread("indexer");
    rebuild_wanted.acquire();
    const std::lock_guard lock(index_lock);
    rebuild_begun.release();
    rebuild_index();
}

PLANTED void look_up() {
    const std::lock_guard lock(index_lock);
    answered = answered + 1;
}

PLANTED void handle_request() {
    look_up();
    answered = answered + 1;
}

}  // namespace

int main() {
    std::thread indexer(run_indexer);
    const int status = cases::serve([](bool slow) {
        if (slow) {
            rebuild_wanted.release();
            rebuild_begun.acquire();
        }
        handle_request();
    });
    indexer.join();
    return status;
}
