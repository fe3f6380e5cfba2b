// Checks whether the store answers, with a bounded wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace lagtrap::server {

// Runs one query at a time on its own thread. Any thread may ask.
class HealthCheck {
  public:
    enum class Answer { Healthy, Unhealthy, Silent };

    // `ask` may block; the destructor waits for it.
    HealthCheck(std::function<bool()> ask, std::chrono::milliseconds timeout);
    ~HealthCheck();
    HealthCheck(const HealthCheck&) = delete;
    HealthCheck& operator=(const HealthCheck&) = delete;

    // The result of a query that begins after this call. Silent if there is none within `timeout`,
    // or at once if the running query has already exceeded it.
    [[nodiscard]] Answer ask();

  private:
    using Clock = std::chrono::steady_clock;
    void work();

    const std::function<bool()> ask_;
    const std::chrono::milliseconds timeout_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t wanted_ = 0;    // queries requested
    std::uint64_t begun_ = 0;     // requests covered by a query that has begun
    std::uint64_t answered_ = 0;  // requests covered by a query that has ended
    Clock::time_point began_at_{};
    bool healthy_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace lagtrap::server
