// How much each sender may have under way at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace lagtrap::server {

// Any thread; must outlive the places it gives.
class PlacesOfSenders {
  public:
    explicit PlacesOfSenders(std::uint32_t limit) : limit_(limit) {}

    // A place, given back when the last owner of it is gone; null where the sender has all of its own.
    [[nodiscard]] std::shared_ptr<void> take(const std::string& sender) {
        const std::lock_guard lock(mutex_);
        std::uint32_t& taken = taken_[sender];
        if (taken >= limit_) return nullptr;
        ++taken;
        return {this, [sender](PlacesOfSenders* places) { places->give_back(sender); }};
    }

  private:
    void give_back(const std::string& sender) {
        const std::lock_guard lock(mutex_);
        const auto found = taken_.find(sender);
        if (--found->second == 0) taken_.erase(found);
    }

    const std::uint32_t limit_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::uint32_t> taken_;
};

}  // namespace lagtrap::server
