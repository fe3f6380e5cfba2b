#include "daemon/kernel/block_allocator.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::daemon::block_allocator_test {
namespace {

using namespace std::chrono_literals;
using Clock = BlockAllocator::Clock;

TEST(BlockAllocator, GivesOutAlignedRoomUntilThereIsNone) {
    BlockAllocator blocks(1s);
    const Clock::time_point now{};
    EXPECT_EQ(blocks.allocate(1, 1, now), std::nullopt);
    blocks.grow(16);
    EXPECT_EQ(blocks.allocate(1, 1, now), 0U);
    EXPECT_EQ(blocks.allocate(4, 4, now), 4U);
    EXPECT_EQ(blocks.allocate(2, 2, now), 2U);
    EXPECT_EQ(blocks.allocate(1, 1, now), 1U);
    EXPECT_EQ(blocks.allocate(8, 4, now), 8U);
    EXPECT_EQ(blocks.allocate(1, 1, now), std::nullopt);
    EXPECT_EQ(blocks.used(), 16U);
    blocks.grow(4);
    EXPECT_EQ(blocks.allocate(4, 4, now), 16U);
}

TEST(BlockAllocator, GivesNothingOutAgainBeforeItHasRested) {
    BlockAllocator blocks(1s);
    const Clock::time_point now{};
    blocks.grow(4);
    ASSERT_EQ(blocks.allocate(4, 4, now), 0U);
    blocks.release(0, 4, now);
    EXPECT_EQ(blocks.used(), 0U);
    EXPECT_EQ(blocks.allocate(1, 1, now + 999ms), std::nullopt);
    EXPECT_EQ(blocks.allocate(4, 4, now + 1s), 0U);
}

// Compares with a list of each block's owner.
TEST(BlockAllocator, NeverGivesABlockToTwo) {
    std::mt19937 random(1);
    BlockAllocator blocks(10ms);
    Clock::time_point now{};
    constexpr std::uint32_t size = 512;
    blocks.grow(size);
    std::vector<bool> taken(size);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> held;
    for (int round = 0; round < 20'000; ++round) {
        now += 1ms;
        if (random() % 2 == 0 && !held.empty()) {
            const std::size_t which = random() % held.size();
            const auto [first, count] = held[which];
            for (std::uint32_t i = 0; i < count; ++i) taken[first + i] = false;
            blocks.release(first, count, now);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
            continue;
        }
        const std::uint32_t alignment = 1U << random() % 3;
        const std::uint32_t count = alignment * (1 + random() % 8);
        const auto first = blocks.allocate(count, alignment, now);
        if (!first) continue;
        ASSERT_EQ(*first % alignment, 0U);
        ASSERT_LE(*first + count, size);
        for (std::uint32_t i = 0; i < count; ++i) {
            ASSERT_FALSE(taken[*first + i]) << "round " << round;
            taken[*first + i] = true;
        }
        held.emplace_back(*first, count);
    }
    for (const auto& [first, count] : held) blocks.release(first, count, now);
    EXPECT_EQ(blocks.used(), 0U);
    EXPECT_EQ(blocks.allocate(size, 4, now + 10ms), 0U)
        << "what was given back in pieces is one piece again";
}

}  // namespace
}  // namespace lagtrap::daemon::block_allocator_test
