// A thread that starts processes. A process that ends with its parent (PR_SET_PDEATHSIG) ends with the thread that started it,
// prctl(2): one that is to stay is started by a thread that stays.
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

// The thread begins at the first call. Free to be used from any thread; one start at a time.
class ProcessStarter {
  public:
    ProcessStarter() = default;
    // What was asked for is still done.
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

    // Gives what `start` gives, called on the thread.
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
