// Limits of uploads: bytes per time and per day of each sender, and uploads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "server/accounts/audit.hpp"
#include "server/accounts/daily_quota.hpp"
#include "server/accounts/rate_limit.hpp"
#include "server/api/counters.hpp"
#include "server/api/sender_limits.hpp"

namespace lagtrap::server {

// One of the concurrent uploads allowed; released on destruction.
class UploadPlace {
  public:
    UploadPlace(std::atomic<std::uint32_t>& count, std::uint32_t limit) : count_(&count) {
        if (++count <= limit) return;
        --count;
        count_ = nullptr;
    }
    UploadPlace(UploadPlace&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    UploadPlace& operator=(UploadPlace&&) = delete;
    ~UploadPlace() {
        if (count_ != nullptr) --*count_;
    }
    [[nodiscard]] bool valid() const { return count_ != nullptr; }

  private:
    std::atomic<std::uint32_t>* count_;
};

// What an upload holds until it ends. Must not outlive the UploadLimits.
struct UploadShare {
    UploadPlace place;
    DailyQuota::Share quota;
};

// Any thread; blocks on the store. References must outlive it.
class UploadLimits {
  public:
    UploadLimits(const SenderLimits& limits, QuotaStore quotas, Audit& audit, Counters& counters)
        : at_once_(limits.uploads_at_once),
          rate_(limits.upload_bytes),
          daily_(quotas, limits.daily_upload_bytes),
          audit_(audit),
          counters_(counters) {}

    // For an upload of `bytes`. `sender` is the key of its limits, `who` its name in the audit log,
    // and `now_ns` the wall clock.
    [[nodiscard]] std::variant<UploadShare, Refusal> take(const std::string& sender,
                                                          const std::string& who,
                                                          std::uint64_t bytes,
                                                          std::uint64_t now_ns);
    // Uploads that run now.
    [[nodiscard]] std::uint32_t running() const { return running_; }
    [[nodiscard]] DailyQuota& daily() { return daily_; }

  private:
    [[nodiscard]] std::variant<DailyQuota::Share, Refusal> take_daily(const std::string& sender,
                                                                      const std::string& who,
                                                                      std::uint64_t bytes,
                                                                      std::uint64_t now_ns);

    const std::uint32_t at_once_;
    RateLimit rate_;
    DailyQuota daily_;
    Audit& audit_;
    Counters& counters_;
    std::atomic<std::uint32_t> running_{0};
};

}  // namespace lagtrap::server
