// Random numbers that are the same with every standard library; the distributions of std are not.
#pragma once

#include <cstdint>
#include <random>

namespace lagtrap::server::reports {

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    // In [0, limit); limit must be at least 1. The bias is below limit / 2^64.
    [[nodiscard]] std::uint64_t below(std::uint64_t limit) {
        return static_cast<std::uint64_t>(static_cast<unsigned __int128>(engine_()) * limit >> 64);
    }

  private:
    std::mt19937_64 engine_;
};

}  // namespace lagtrap::server::reports
