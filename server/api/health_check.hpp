// Whether the store answers, asked so that nobody waits long for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace lagtrap::server {

// One question runs at a time, on a thread of its own. Any thread may ask.
class HealthCheck {
  public:
    enum class Answer { Healthy, Unhealthy, Silent };

    // `ask` may block; the destructor waits for it.
    HealthCheck(std::function<bool()> ask, std::chrono::milliseconds patience);
    ~HealthCheck();
    HealthCheck(const HealthCheck&) = delete;
    HealthCheck& operator=(const HealthCheck&) = delete;

    // What the store answers to a question that begins after this call. Silent if there is no answer within the
    // patience; at once if it has been passed already.
    [[nodiscard]] Answer ask();

  private:
    using Clock = std::chrono::steady_clock;
    void work();

    const std::function<bool()> ask_;
    const std::chrono::milliseconds patience_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t wanted_ = 0;    // questions that somebody waits for
    std::uint64_t begun_ = 0;     // as many of them are covered by questions that began
    std::uint64_t answered_ = 0;  // or that were answered
    Clock::time_point began_at_{};
    bool healthy_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace lagtrap::server
