// A consumer waits for a message that never comes, until its own timeout. Another thread is busy
// with other things all the while, and takes and leaves the same lock.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "program.hpp"

namespace {

std::mutex lock_of_queue;
std::condition_variable queue_changed;
int messages = 0;
std::atomic<bool> ended = false;

PLANTED bool take_message() {
    std::unique_lock lock(lock_of_queue);
    const bool came =
        queue_changed.wait_for(lock, std::chrono::milliseconds(400), [] { return messages > 0; });
    if (came) --messages;
    return came;
}

PLANTED void keep_statistics() {
    {
        const std::lock_guard lock(lock_of_queue);
        cases::compute_ms(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

void run_statistics() {
    cases::name_thread("statistics");
    while (!ended) keep_statistics();
}

}  // namespace

int main() {
    std::thread statistics(run_statistics);
    const int status = cases::serve([](bool slow) {
        if (!slow) {
            const std::lock_guard lock(lock_of_queue);
            ++messages;
        }
        (void)take_message();
    });
    ended = true;
    statistics.join();
    return status;
}
