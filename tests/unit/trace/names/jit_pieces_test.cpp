#include "trace/names/jit_pieces.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::trace::jit_pieces_test {
namespace {

TEST(JitPieces, TheLaterPieceLiesOverTheEarlier) {
    const JitPieces pieces(
        {{0x1000, 0x2000, 0, "old"}, {0x1400, 0x1500, 0, "new"}, {0x1480, 0x1600, 0, "newer"}}, 0);
    EXPECT_EQ(pieces.find(0xfff, 1), "");
    EXPECT_EQ(pieces.find(0x1000, 1), "old");
    EXPECT_EQ(pieces.find(0x13ff, 1), "old");
    EXPECT_EQ(pieces.find(0x1400, 1), "new");
    EXPECT_EQ(pieces.find(0x147f, 1), "new");
    EXPECT_EQ(pieces.find(0x1480, 1), "newer");
    EXPECT_EQ(pieces.find(0x15ff, 1), "newer");
    EXPECT_EQ(pieces.find(0x1600, 1), "old");
    EXPECT_EQ(pieces.find(0x1fff, 1), "old");
    EXPECT_EQ(pieces.find(0x2000, 1), "");
}

TEST(JitPieces, GoesByTheTimeOfWhatWasMadeInTheRecording) {
    const JitPieces pieces({{0x1000, 0x2000, 500, "while recorded"},
                            {0x1000, 0x1800, 100, "before"},
                            {0x1000, 0x1800, 700, "still later"},
                            {0x3000, 0x3100, 600, "first there"}},
                           400);
    EXPECT_EQ(pieces.find(0x1700, 450), "before");
    EXPECT_EQ(pieces.find(0x1700, 500), "while recorded");
    EXPECT_EQ(pieces.find(0x1700, 699), "while recorded");
    EXPECT_EQ(pieces.find(0x1700, 700), "still later");
    EXPECT_EQ(pieces.find(0x1900, 800), "while recorded");
    EXPECT_EQ(pieces.find(0x3050, 450), "first there");
}

TEST(JitPieces, AgreesWithLookingAtEveryPiece) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
        const std::uint64_t span = 1 + random() % 300;
        std::vector<std::string> names;
        for (int i = 0; i < 40; ++i) names.push_back(std::to_string(i));
        std::vector<JitPiece> made;
        for (const std::string& name : names) {
            const std::uint64_t start = random() % span;
            made.push_back({start, start + 1 + random() % span, made.size() * 10, name});
        }
        const std::uint64_t settled_ns = random() % 500;
        const JitPieces pieces(made, settled_ns);
        for (std::uint64_t address = 0; address < 2 * span; ++address) {
            const std::uint64_t at_ns = settled_ns + random() % 200;
            const JitPiece* expected = nullptr;
            for (const JitPiece& piece : made) {
                if (piece.start > address || piece.end <= address) continue;
                if (piece.from_ns <= at_ns || expected == nullptr) expected = &piece;
            }
            ASSERT_EQ(pieces.find(address, at_ns), expected == nullptr ? "" : expected->name)
                << "round " << round << ", address " << address << " at " << at_ns;
        }
    }
}

TEST(JitPieces, ReachesTheLastAddress) {
    const JitPieces pieces({{0xfffffffffffff000, 0xffffffffffffffff, 0, "end"}}, 0);
    EXPECT_EQ(pieces.find(0xfffffffffffffffe, 0), "end");
    EXPECT_EQ(pieces.find(0xffffffffffffffff, 0), "");
}

}  // namespace
}  // namespace lagtrap::trace::jit_pieces_test
