#include "daemon/unwinding/code_space.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/processes/mapping_build_id.hpp"
#include "daemon/unwinding/code_module.hpp"
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

CodePiece file_piece(std::uint64_t start, std::uint64_t end, const std::string& path) {
    CodePiece one = piece(start, end);
    one.kind = PieceKind::File;
    one.file = std::make_shared<const ReportedFile>(ReportedFile{8, 42, "0a0b", path});
    return one;
}

struct Described {
    lagtrap_mapping mapping;
    std::string path;
};

std::vector<Described> described_in(const CodeSpace& space, UserShares& log_room) {
    RecordBuffer records;
    space.describe(9, 1234, log_room, records);
    std::vector<Described> all;
    records.for_each([&](const lagtrap_record* record) {
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        all.push_back({mapping, {reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes}});
    });
    return all;
}

TEST_F(CodeSpaceTest, IsDescribedForTheLog) {
    CodePiece known = file_piece(0x3000, 0x5000, "/usr/bin/shop");
    known.file_offset = 0x1000;
    known.module = std::make_shared<CodeModule>();
    known.module->build_id = "c0ffee";
    EXPECT_TRUE(space.put(piece(0x1000, 0x2000), max_pieces));
    EXPECT_TRUE(space.put(known, max_pieces));
    EXPECT_TRUE(space.put(file_piece(0x8000, 0x9000, "/lib/a.so"), max_pieces));
    UserShares log_room(1 << 20);
    const auto described = described_in(space, log_room);
    ASSERT_EQ(described.size(), 3U);
    EXPECT_EQ(described[0].path, "//anon");
    EXPECT_EQ(described[0].mapping.pid, 9U);
    EXPECT_EQ(described[0].mapping.header.at_ns, 1234U);
    EXPECT_EQ(described[1].path, "/usr/bin/shop");
    EXPECT_EQ(described[1].mapping.start, 0x3000U);
    EXPECT_EQ(described[1].mapping.length, 0x2000U);
    EXPECT_EQ(described[1].mapping.file_offset, 0x1000U);
    EXPECT_EQ(build_id_of(described[1].mapping), "c0ffee") << "the module's is checked";
    EXPECT_EQ(build_id_of(described[2].mapping), "0a0b");
    UserShares little_room(4 * (sizeof(lagtrap_mapping) + 6));
    EXPECT_EQ(described_in(space, little_room).size(), 1U) << "a user has a fourth";
    EXPECT_EQ(little_room.left_out().at(7), 2U);
}

TEST_F(CodeSpaceTest, FilesHaveTheirTablesOnceTheyAreReady) {
    CodePiece ready = file_piece(0x3000, 0x4000, "/usr/bin/shop"),
              waiting = file_piece(0x4000, 0x5000, "/usr/bin/shop");
    ready.module = std::make_shared<CodeModule>();
    ready.module->table = 70;
    ready.module->state = ModuleState::Ready;
    ready.module->segments = {{0, 0x1000, 0x1000}};
    waiting.module = std::make_shared<CodeModule>(*ready.module);
    waiting.module->table = 71;
    waiting.module->state = ModuleState::Waiting;
    for (const CodePiece& one : {ready, waiting, file_piece(0x5000, 0x6000, "/lib/a.so")})
        EXPECT_TRUE(space.put(one, max_pieces));
    EXPECT_TRUE(space.write(1, left_out));
    ASSERT_EQ(space.written.size(), 3U) << "files are not joined";
    EXPECT_EQ(space.written[0].table, 70U);
    EXPECT_EQ(space.written[0].table_start, ready.module->table_start(0x3000, 0));
    EXPECT_EQ(space.written[1].table, 71U);
    EXPECT_EQ(space.written[1].table_start, 0U);
    EXPECT_EQ(space.written[2].table, std::uint32_t{LAGTRAP_UNWIND_UNREADABLE_FILE});
}

TEST_F(CodeSpaceTest, FilesWaitUntilTheyAreIdentifiedOrPutOff) {
    space.identified = true;
    EXPECT_TRUE(space.put(piece(0x1000, 0x2000), max_pieces));
    EXPECT_TRUE(space.identified) << "memory needs no look";
    CodePiece known = file_piece(0x3000, 0x4000, "/a");
    known.identified = true;
    EXPECT_TRUE(space.put(known, max_pieces));
    EXPECT_TRUE(space.identified);
    CodePiece assumed = file_piece(0x5000, 0x6000, "/b");
    assumed.module = std::make_shared<CodeModule>();
    for (const CodePiece& one :
         {assumed, file_piece(0x7000, 0x8000, "/c"), file_piece(0x8000, 0x9000, "/d")})
        EXPECT_TRUE(space.put(one, max_pieces));
    EXPECT_FALSE(space.identified);
    EXPECT_EQ(space.files_waiting(), 2U);
    space.look_pause = std::chrono::seconds(1);
    EXPECT_EQ(space.files_waiting(), 0U);
    space.look_pause = {};
    space.identified = true;
    EXPECT_EQ(space.files_waiting(), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::code_space_test
