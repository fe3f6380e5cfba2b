// How many runs each run represents, for events that are watched part of the time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lagtrap::daemon {

// Weights by event, 1 for unknown events. Thread-safe.
class RunWeights {
  public:
    explicit RunWeights(std::size_t events) : weights_(events) {
        for (auto& weight : weights_) weight.store(1, std::memory_order_relaxed);
    }

    void set(std::uint32_t event, std::uint32_t weight) {
        if (event < weights_.size()) weights_[event].store(weight, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint32_t of(std::uint32_t event) const {
        return event < weights_.size() ? weights_[event].load(std::memory_order_relaxed) : 1;
    }

  private:
    std::vector<std::atomic<std::uint32_t>> weights_;
};

}  // namespace lagtrap::daemon
