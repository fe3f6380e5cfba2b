// Eight workers share two slots; a request comes while all of them want one.
#include <atomic>
#include <semaphore>
#include <thread>
#include <vector>

#include "program.hpp"

namespace {

constexpr int workers = 8;
std::counting_semaphore<2> slots(2);
std::atomic<bool> load = false;
std::atomic<bool> ended = false;
std::atomic<int> waiting = 0;
volatile int served = 0;

PLANTED void scan_archive() { cases::compute_ms(200); }

void run_worker() {
    cases::name_thread("archiver");
    load.wait(false);
    if (ended) return;
    ++waiting;
    slots.acquire();
    scan_archive();
    slots.release();
}

PLANTED void serve_request() {
    slots.acquire();
    served = served + 1;
    slots.release();
}

}  // namespace

int main() {
    std::vector<std::thread> archivers;
    for (int number = 0; number < workers; ++number) archivers.emplace_back(run_worker);
    const int status = cases::serve([](bool slow) {
        if (slow) {
            load = true;
            load.notify_all();
            while (waiting < workers) std::this_thread::yield();
        }
        serve_request();
    });
    ended = true;
    load = true;
    load.notify_all();
    for (auto& archiver : archivers) archiver.join();
    return status;
}
