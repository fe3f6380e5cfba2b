#include "server/api/health_check.hpp"

#include <utility>

namespace lagtrap::server {

HealthCheck::HealthCheck(std::function<bool()> ask, std::chrono::milliseconds timeout)
    : ask_(std::move(ask)), timeout_(timeout), thread_([this] { work(); }) {}

HealthCheck::~HealthCheck() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

HealthCheck::Answer HealthCheck::ask() {
    std::unique_lock lock(mutex_);
    if (begun_ > answered_ && Clock::now() - began_at_ >= timeout_) return Answer::Silent;
    const std::uint64_t mine = ++wanted_;
    changed_.notify_all();
    const bool answered = changed_.wait_for(lock, timeout_, [&] { return answered_ >= mine; });
    if (!answered) return Answer::Silent;
    return healthy_ ? Answer::Healthy : Answer::Unhealthy;
}

void HealthCheck::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || wanted_ > answered_; });
        if (stopping_) return;
        begun_ = wanted_;
        began_at_ = Clock::now();
        lock.unlock();
        const bool healthy = ask_();
        lock.lock();
        healthy_ = healthy;
        answered_ = begun_;
        changed_.notify_all();
    }
}

}  // namespace lagtrap::server
