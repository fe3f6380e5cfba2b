// A memory budget. Internal to binaries/.
#pragma once

#include <cstdint>

namespace lagtrap::binaries {

class ByteBudget {
  public:
    explicit ByteBudget(std::uint64_t bytes) : left_(bytes) {}
    // False, without taking anything, if less than that is left.
    [[nodiscard]] bool take(std::uint64_t bytes) {
        if (bytes > left_) return false;
        left_ -= bytes;
        return true;
    }
    void give_back(std::uint64_t bytes) { left_ += bytes; }
    [[nodiscard]] std::uint64_t left() const { return left_; }

  private:
    std::uint64_t left_;
};

}  // namespace lagtrap::binaries
