// Token buckets: how much somebody may do per second, with a burst.
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

// A bucket for each key. Holds at most `keys` of them; the one used longest ago goes first, which gives its owner a
// full bucket again. Any thread.
class RateLimit {
  public:
    using Clock = std::chrono::steady_clock;

    explicit RateLimit(Rate rate, std::size_t keys = 10'000) : rate_(rate), keys_(keys) {}

    // Zero if `amount` was taken; else how long to wait until it can be, and nothing was taken. An amount beyond the
    // burst is let through when the bucket is full, and leaves a debt.
    [[nodiscard]] std::chrono::milliseconds take(const std::string& key, double amount, Clock::time_point now);
    // What was taken for something that need not count after all.
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
    std::list<std::string> order_;  // used last comes first
    std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace lagtrap::server
