// Which parts of events are disabled although the events are watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lagtrap::daemon {

// At first everything is enabled. Events are numbers below the constructor's `events`. Thread-safe.
class DisabledParts {
  public:
    struct Parts {
        bool stacks = false, stages = false;
    };
    explicit DisabledParts(std::size_t events) : parts_(events) {}

    void set_stacks(std::uint32_t event, bool disabled) {
        const std::lock_guard lock(mutex_);
        parts_[event].stacks = disabled;
    }
    void set_stages(std::uint32_t event, bool disabled) {
        const std::lock_guard lock(mutex_);
        parts_[event].stages = disabled;
    }
    [[nodiscard]] Parts of(std::uint32_t event) const {
        const std::lock_guard lock(mutex_);
        return parts_[event];
    }

  private:
    mutable std::mutex mutex_;
    std::vector<Parts> parts_;
};

}  // namespace lagtrap::daemon
