#include "daemon/unwinding/code_space.hpp"

#include <gtest/gtest.h>

#include "tests/unit/daemon/spaces_fixture.hpp"

namespace lagtrap::daemon::code_space_test {
namespace {

constexpr std::size_t max_pieces = 10;

CodePiece piece(std::uint64_t start, std::uint64_t end) {
    CodePiece one;
    one.start = start;
    one.end = end;
    return one;
}

class CodeSpaceTest : public ::testing::Test {
  protected:
    Memory memory;
    UserShares room{1 << 20};
    std::optional<CodeSpace> made{std::in_place, memory, room, 7};
    CodeSpace& space = *made;
    std::uint64_t left_out = 0;
};

TEST_F(CodeSpaceTest, MemoryAfterMemoryIsOneMapping) {
    EXPECT_TRUE(space.put(piece(0x1000, 0x2000), max_pieces));
    EXPECT_TRUE(space.put(piece(0x2000, 0x3000), max_pieces));
    EXPECT_TRUE(space.put(piece(0x4000, 0x5000), max_pieces));
    EXPECT_TRUE(space.write(1, left_out));
    EXPECT_EQ(space.written.size(), 2U);
    EXPECT_EQ(left_out, 0U);
}

TEST_F(CodeSpaceTest, KeepsItsPlaceWhileNothingChanges) {
    EXPECT_TRUE(space.put(piece(0x1000, 0x2000), max_pieces));
    EXPECT_TRUE(space.write(1, left_out));
    const auto block = space.place->first_block;
    EXPECT_TRUE(space.write(2, left_out));
    EXPECT_EQ(space.place->first_block, block);
    EXPECT_TRUE(space.put(piece(0x4000, 0x5000), max_pieces));
    EXPECT_TRUE(space.write(2, left_out));
    EXPECT_NE(space.place->first_block, block);
    EXPECT_EQ(memory.spaces.size(), 1U);
}

TEST_F(CodeSpaceTest, IsWrittenLaterIfThereIsNoRoom) {
    memory.room_for_spaces = 0;
    EXPECT_TRUE(space.put(piece(0x1000, 0x2000), max_pieces));
    EXPECT_FALSE(space.write(1, left_out));
    EXPECT_TRUE(space.changed);
    memory.room_for_spaces = 1;
    EXPECT_TRUE(space.write(1, left_out));
    EXPECT_FALSE(space.changed);
}

TEST_F(CodeSpaceTest, CountsMappingsBeyondTheLimit) {
    for (std::uint64_t at = 0; at < LAGTRAP_UNWIND_MAX_MAPPINGS + 3; ++at)
        ASSERT_TRUE(space.put(piece(at << 13, (at << 13) + 0x1000), 100'000));
    EXPECT_TRUE(space.write(1, left_out));
    EXPECT_EQ(space.written.size(), std::size_t{LAGTRAP_UNWIND_MAX_MAPPINGS});
    EXPECT_EQ(left_out, 3U);
}

TEST_F(CodeSpaceTest, MustBeReadAgainIfAPieceFindsNoRoom) {
    EXPECT_TRUE(space.put(piece(0x1000, 0x2000), 1));
    EXPECT_FALSE(space.put(piece(0x4000, 0x5000), 1));
    EXPECT_TRUE(space.outgrown);
    EXPECT_EQ(room.left_out().at(7), 1U);
}

TEST_F(CodeSpaceTest, WhatItHoldsMovesToAnotherUserAndIsGivenBack) {
    EXPECT_TRUE(space.put(piece(0x1000, 0x2000), max_pieces));
    const std::uint64_t held_bytes = room.used_bytes();
    EXPECT_GT(held_bytes, 0U);
    space.change_user(8);
    EXPECT_EQ(room.used_bytes(), held_bytes);
    EXPECT_EQ(space.user, 8U);
    EXPECT_EQ(space.take_pieces().all().size(), 1U);
    EXPECT_EQ(room.used_bytes(), 0U);
    EXPECT_TRUE(space.put(piece(0x1000, 0x2000), max_pieces));
    made.reset();
    EXPECT_EQ(room.used_bytes(), 0U);
}

TEST_F(CodeSpaceTest, ACopyCountsForItsOwnUser) {
    EXPECT_TRUE(space.put(piece(0x1000, 0x2000), max_pieces));
    space.watched = true;
    const std::uint64_t held_bytes = room.used_bytes();
    {
        CodeSpace other(memory, room, 9);
        other.copy(space);
        EXPECT_TRUE(other.watched);
        EXPECT_EQ(other.pieces.all().size(), 1U);
        EXPECT_EQ(room.used_bytes(), 2 * held_bytes);
    }
    EXPECT_EQ(room.used_bytes(), held_bytes);
    room.set_total(0);
    CodeSpace full(memory, room, 9);
    full.copy(space);
    EXPECT_TRUE(full.outgrown);
    EXPECT_TRUE(full.pieces.all().empty());
}

}  // namespace
}  // namespace lagtrap::daemon::code_space_test
