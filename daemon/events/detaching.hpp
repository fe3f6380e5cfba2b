// Destroys links to probes on other threads: the kernel takes up to 0.1 s for each.
#pragma once

#include <future>
#include <mutex>
#include <utility>
#include <vector>

#include "daemon/kernel/libbpf_support.hpp"

namespace lagtrap::daemon {

// From the last to the first: the begin is attached last.
inline void destroy(std::vector<Link> links) {
    while (!links.empty()) links.pop_back();
}

// Thread-safe. The destructor waits.
class Detaching {
  public:
    // Returns at once, and calls `after` on another thread when they are destroyed.
    template <typename After>
    void start(std::vector<Link> links, After after) {
        auto detached = std::async(std::launch::async, [all = std::move(links), after]() mutable {
            destroy(std::move(all));
            after();
        });
        const std::lock_guard lock(mutex_);
        running_.push_back(std::move(detached));
    }
    // Waits for all that start() began before.
    void wait() {
        std::vector<std::future<void>> running;
        {
            const std::lock_guard lock(mutex_);
            running.swap(running_);
        }
        running.clear();  // waits
    }
    // False if wait() must be called, again.
    [[nodiscard]] bool idle() const {
        const std::lock_guard lock(mutex_);
        return running_.empty();
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::future<void>> running_;
};

}  // namespace lagtrap::daemon
