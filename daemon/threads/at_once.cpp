#include "daemon/threads/at_once.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace lagtrap::daemon {

void do_at_once(std::size_t count, const std::function<void(std::size_t number)>& task) {
    constexpr std::size_t max_threads = 32;
    std::atomic<std::size_t> next{0};
    const auto do_some = [&] {
        for (std::size_t number = next++; number < count; number = next++) task(number);
    };
    std::vector<std::thread> threads;
    try {
        while (threads.size() + 1 < std::min(count, max_threads)) threads.emplace_back(do_some);
    } catch (const std::system_error&) {
        // Continue with fewer threads.
    }
    do_some();
    for (std::thread& thread : threads) thread.join();
}

}  // namespace lagtrap::daemon
