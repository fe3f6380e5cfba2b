// How much memory something may still take. Used by the other files of this folder.
#pragma once

#include <cstdint>

namespace lagtrap::binaries {

class ByteBudget {
  public:
    explicit ByteBudget(std::uint64_t bytes) : left_(bytes) {}
    // False, and nothing taken, where there is not so much left.
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
