// Starts processes from a permanent thread. With PR_SET_PDEATHSIG (prctl(2)), a process is killed
// when the thread that started it ends.
#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>

namespace lagtrap::binaries {

// Thread-safe; starts one process at a time. The thread is created at the first call.
class ProcessStarter {
  public:
    ProcessStarter() = default;
    // Completes pending requests.
    ~ProcessStarter() {
        {
            const std::scoped_lock lock(mutex_);
            stopping_ = true;
        }
        asked_.notify_one();
        if (thread_.joinable()) thread_.join();
    }
    ProcessStarter(const ProcessStarter&) = delete;
    ProcessStarter& operator=(const ProcessStarter&) = delete;

    // Calls `start` on the thread and returns its result.
    template <typename Start>
    auto run(Start start) {
        auto task = std::make_shared<std::packaged_task<decltype(start())()>>(std::move(start));
        auto result = task->get_future();
        {
            const std::scoped_lock lock(mutex_);
            if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
            waiting_.push([task] { (*task)(); });
        }
        asked_.notify_one();
        return result.get();
    }

  private:
    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            asked_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            const auto next = std::move(waiting_.front());
            waiting_.pop();
            lock.unlock();
            next();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable asked_;
    std::queue<std::function<void()>> waiting_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace lagtrap::binaries
