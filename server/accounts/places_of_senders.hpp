// Limits how many things each sender, and all senders together, may have in progress.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace lagtrap::server {

// Hands out slots. Any thread; must outlive the slots.
class PlacesOfSenders {
  public:
    // `limit` per sender, `total_limit` for all senders together.
    explicit PlacesOfSenders(std::uint32_t limit,
                             std::uint32_t total_limit = std::numeric_limits<std::uint32_t>::max())
        : limit_(limit), total_limit_(total_limit) {}

    // A slot, released with its last reference. Null if the sender, or all senders together, are at
    // the limit.
    [[nodiscard]] std::shared_ptr<void> take(const std::string& sender) {
        const std::lock_guard lock(mutex_);
        if (total_ >= total_limit_) return nullptr;
        std::uint32_t& taken = taken_[sender];
        if (taken >= limit_) return nullptr;
        ++taken;
        ++total_;
        return {this, [sender](PlacesOfSenders* places) { places->give_back(sender); }};
    }

  private:
    void give_back(const std::string& sender) {
        const std::lock_guard lock(mutex_);
        const auto found = taken_.find(sender);
        --total_;
        if (--found->second == 0) taken_.erase(found);
    }

    const std::uint32_t limit_;
    const std::uint32_t total_limit_;
    std::mutex mutex_;
    std::uint32_t total_ = 0;
    std::unordered_map<std::string, std::uint32_t> taken_;
};

}  // namespace lagtrap::server
