// Room in a row of equal blocks: who has which. Blocks given back rest before they are given out again, so that a
// reader that found its way to them a moment ago does not find something else.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace lagtrap::daemon {

// Not for several threads at once.
class BlockAllocator {
  public:
    using Clock = std::chrono::steady_clock;
    // A walk of a stack takes microseconds, but one of a sleeping thread may wait for a page of memory between two looks.
    static constexpr std::chrono::seconds usual_rest{1};

    explicit BlockAllocator(Clock::duration rest) : rest_(rest) {}

    // More blocks at the end.
    void grow(std::uint32_t blocks);

    // First of `blocks` blocks in a row, a multiple of `alignment` (a power of two). nullopt: there is no such room.
    [[nodiscard]] std::optional<std::uint32_t> allocate(std::uint32_t blocks, std::uint32_t alignment,
                                                        Clock::time_point now);
    void release(std::uint32_t first, std::uint32_t blocks, Clock::time_point now);

    [[nodiscard]] std::uint32_t size() const { return size_; }
    [[nodiscard]] std::uint32_t used() const { return used_; }  // those that rest are not used

  private:
    struct Resting {
        std::uint32_t first = 0;
        std::uint32_t blocks = 0;
        Clock::time_point until;
    };
    void add_free(std::uint32_t first, std::uint32_t blocks);

    Clock::duration rest_;
    std::uint32_t size_ = 0;
    std::uint32_t used_ = 0;
    std::map<std::uint32_t, std::uint32_t> free_;  // number of blocks by first
    std::deque<Resting> resting_;
};

}  // namespace lagtrap::daemon
