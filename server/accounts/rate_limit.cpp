#include "server/accounts/rate_limit.hpp"

#include <algorithm>
#include <cmath>

namespace lagtrap::server {
namespace {

constexpr std::uint64_t day_ns = 86'400ULL * 1'000'000'000ULL;
constexpr std::size_t quota_keys = 100'000;
const std::string everybody_else;

}  // namespace

std::chrono::milliseconds RateLimit::take(const std::string& key, double amount, Clock::time_point now) {
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
    const double elapsed = std::max(0.0, std::chrono::duration<double>(now - bucket.filled).count());
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
    if (found != buckets_.end()) found->second.level = std::min(rate_.burst, found->second.level + amount);
}

bool DailyQuota::take(const std::string& key, std::uint64_t amount, std::uint64_t realtime_ns) {
    if (limit_ == 0) return true;
    const std::lock_guard lock(mutex_);
    const std::uint64_t today = realtime_ns / day_ns;
    if (today != day_) {
        used_.clear();
        day_ = today;
    }
    const bool known = used_.contains(key) || used_.size() < quota_keys;
    std::uint64_t& used = used_[known ? key : everybody_else];
    if (amount > limit_ || used > limit_ - amount) return false;
    used += amount;
    return true;
}

void DailyQuota::give_back(const std::string& key, std::uint64_t amount) {
    const std::lock_guard lock(mutex_);
    const auto found = used_.find(key);
    if (found != used_.end()) found->second -= std::min(found->second, amount);
}

std::chrono::seconds DailyQuota::until_midnight(std::uint64_t realtime_ns) {
    return std::chrono::seconds((day_ns - realtime_ns % day_ns) / 1'000'000'000ULL + 1);
}

}  // namespace lagtrap::server
