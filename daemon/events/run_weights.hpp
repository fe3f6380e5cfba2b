// For how many runs one stands of an event that is watched a part of the time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lagtrap::daemon {

// By event; of events that are not in it, 1. All functions may be called from any thread.
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
