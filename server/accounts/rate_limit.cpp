#include "server/accounts/rate_limit.hpp"

#include <algorithm>
#include <cmath>

namespace lagtrap::server {

std::chrono::milliseconds RateLimit::take(const std::string& key, double amount,
                                          Clock::time_point now) {
    if (rate_.per_second <= 0) return {};
    const std::lock_guard lock(mutex_);
    auto found = buckets_.find(key);
    if (found == buckets_.end()) {
        if (buckets_.size() >= keys_) {
            buckets_.erase(order_.back());
            order_.pop_back();
        }
        order_.push_front(key);
        found = buckets_.emplace(key, Bucket{rate_.burst, now, order_.begin()}).first;
    }
    Bucket& bucket = found->second;
    order_.splice(order_.begin(), order_, bucket.used);
    const double elapsed =
        std::max(0.0, std::chrono::duration<double>(now - bucket.filled).count());
    bucket.level = std::min(rate_.burst, bucket.level + elapsed * rate_.per_second);
    bucket.filled = now;
    const double needed = std::min(amount, rate_.burst);
    if (bucket.level >= needed) {
        bucket.level -= amount;
        return {};
    }
    return std::chrono::milliseconds(
        static_cast<std::int64_t>(std::ceil((needed - bucket.level) / rate_.per_second * 1000)));
}

void RateLimit::give_back(const std::string& key, double amount) {
    const std::lock_guard lock(mutex_);
    const auto found = buckets_.find(key);
    if (found != buckets_.end())
        found->second.level = std::min(rate_.burst, found->second.level + amount);
}

}  // namespace lagtrap::server
