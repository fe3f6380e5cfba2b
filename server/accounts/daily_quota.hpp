// How many bytes each sender may bring in a day of UTC, counted in the store, so that all servers of a store count together.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "server/store/account_store.hpp"

namespace lagtrap::server {

// Any thread.
class DailyQuota {
  public:
    // What an upload takes of its sender's day. What was not kept is given back by the destructor, which then blocks on the
    // store; what a store that is not to be reached does not take back counts until the day's end, as does what a server that
    // was killed had taken.
    class Share {
      public:
        Share() = default;  // of nothing
        Share(Share&& other) noexcept { swap(other); }
        Share& operator=(Share other) noexcept {
            swap(other);
            return *this;
        }
        ~Share();

        void keep() { store_ = nullptr; }

      private:
        friend class DailyQuota;
        Share(AccountStore& store, std::string sender, std::uint64_t day, std::uint64_t bytes)
            : store_(&store), sender_(std::move(sender)), day_(day), bytes_(bytes) {}
        void swap(Share& other) noexcept {
            std::swap(store_, other.store_);
            sender_.swap(other.sender_);
            std::swap(day_, other.day_);
            std::swap(bytes_, other.bytes_);
        }

        AccountStore* store_ = nullptr;
        std::string sender_;
        std::uint64_t day_ = 0;
        std::uint64_t bytes_ = 0;
    };

    // `limit_bytes` of 0: no limit, and nothing is counted. The store outlives this and all shares.
    DailyQuota(AccountStore& store, std::uint64_t limit_bytes) : store_(store), limit_bytes_(limit_bytes) {}

    // Nothing, and nothing is counted, where the sender would pass the limit. Blocks on the store.
    [[nodiscard]] Result<std::optional<Share>> take(const std::string& sender, std::uint64_t bytes,
                                                    std::uint64_t realtime_ns);
    // Of the day of this moment; zeros without a limit. Blocks on the store.
    [[nodiscard]] Result<QuotaUse> use(std::uint64_t realtime_ns);
    [[nodiscard]] std::uint64_t limit_bytes() const { return limit_bytes_; }
    // Until the next day begins.
    [[nodiscard]] static std::chrono::seconds until_next_day(std::uint64_t realtime_ns);

  private:
    AccountStore& store_;
    const std::uint64_t limit_bytes_;
};

}  // namespace lagtrap::server
