// Token buckets: a rate per second and a burst, for each key.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

namespace lagtrap::server {

struct Rate {
    double per_second = 0;  // 0: no limit
    double burst = 0;
};

// A token bucket for each key, for at most `keys` keys. Evicts the least recently used bucket; its
// key then starts with a full one again. Any thread.
class RateLimit {
  public:
    using Clock = std::chrono::steady_clock;

    explicit RateLimit(Rate rate, std::size_t keys = 10'000) : rate_(rate), keys_(keys) {}

    // Takes `amount` and returns zero, or takes nothing and returns how long to wait. An amount
    // larger than the burst passes if the bucket is full, and leaves a debt.
    [[nodiscard]] std::chrono::milliseconds take(const std::string& key, double amount,
                                                 Clock::time_point now);
    // Returns an amount that should not have counted.
    void give_back(const std::string& key, double amount);

  private:
    struct Bucket {
        double level;
        Clock::time_point filled;
        std::list<std::string>::iterator used;
    };

    const Rate rate_;
    const std::size_t keys_;
    std::mutex mutex_;
    std::list<std::string> order_;  // most recently used first
    std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace lagtrap::server
