// Allocates runs of equal blocks. Released blocks rest before they are reused, so that a reader
// that has just looked them up does not find other data.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

namespace lagtrap::daemon {

// Not thread-safe.
class BlockAllocator {
  public:
    using Clock = std::chrono::steady_clock;
    // A stack walk takes microseconds. In a sleeping thread it may wait for a page between two
    // lookups.
    static constexpr std::chrono::seconds usual_rest{1};

    explicit BlockAllocator(Clock::duration rest) : rest_(rest) {}

    // Adds blocks at the end.
    void grow(std::uint32_t blocks);

    // First of `blocks` adjacent blocks, at a multiple of `alignment` (a power of two). nullopt if
    // there is no room.
    [[nodiscard]] std::optional<std::uint32_t> allocate(std::uint32_t blocks,
                                                        std::uint32_t alignment,
                                                        Clock::time_point now);
    void release(std::uint32_t first, std::uint32_t blocks, Clock::time_point now);

    [[nodiscard]] std::uint32_t size() const { return size_; }
    [[nodiscard]] std::uint32_t used() const { return used_; }  // without resting blocks

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
    std::map<std::uint32_t, std::uint32_t> free_;  // number of blocks, by first block
    std::deque<Resting> resting_;
};

}  // namespace lagtrap::daemon
