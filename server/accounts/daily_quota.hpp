// Daily upload quotas: the bytes each sender may upload in a UTC day, counted in the store so that
// all servers of a store share one count.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "server/store/quota_store.hpp"

namespace lagtrap::server {

// Charges uploads to their sender's day. Any thread.
class DailyQuota {
  public:
    // The bytes charged for one upload. The destructor refunds them unless keep() was called, and
    // blocks on the store. If the store cannot be reached or the server is killed, the charge
    // stands until the end of the day.
    class Share {
      public:
        Share() = default;  // charges nothing
        Share(Share&& other) noexcept { swap(other); }
        Share& operator=(Share other) noexcept {
            swap(other);
            return *this;
        }
        ~Share();

        void keep() { store_.reset(); }

      private:
        friend class DailyQuota;
        Share(QuotaStore store, std::string sender, std::uint64_t day, std::uint64_t bytes)
            : store_(store), sender_(std::move(sender)), day_(day), bytes_(bytes) {}
        void swap(Share& other) noexcept {
            std::swap(store_, other.store_);
            sender_.swap(other.sender_);
            std::swap(day_, other.day_);
            std::swap(bytes_, other.bytes_);
        }

        std::optional<QuotaStore> store_;
        std::string sender_;
        std::uint64_t day_ = 0;
        std::uint64_t bytes_ = 0;
    };

    // A `limit_bytes` of 0 means no limit and no counting. The store must outlive this and all
    // shares.
    DailyQuota(QuotaStore store, std::uint64_t limit_bytes)
        : store_(store), limit_bytes_(limit_bytes) {}

    // nullopt, without a charge, if the upload would exceed the sender's limit. Blocks on the
    // store.
    [[nodiscard]] Result<std::optional<Share>> take(const std::string& sender, std::uint64_t bytes,
                                                    std::uint64_t realtime_ns);
    // Use on the day of `realtime_ns`; zeros if there is no limit. Blocks on the store.
    [[nodiscard]] Result<QuotaUse> use(std::uint64_t realtime_ns);
    [[nodiscard]] std::uint64_t limit_bytes() const { return limit_bytes_; }
    // Time until the next UTC day begins.
    [[nodiscard]] static std::chrono::seconds until_next_day(std::uint64_t realtime_ns);

  private:
    const QuotaStore store_;
    const std::uint64_t limit_bytes_;
};

}  // namespace lagtrap::server
