#include "trace/names/perf_map.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::trace::perf_map_test {
namespace {

TEST(PerfMap, ReadsWhatProgramsWrite) {
    const std::string content =
        "3bd90bcd7eee 25 JS:~plantedOuter /srv/busy.js:2:22\n"      // V8
        "0x00007f1c2c0a1b00 0x0000000000000160 Planted.work(I)D\n"  // the JVM, some versions
        "00007f8b4c002000 2c0 py::work:/srv/with some blanks.py\n"  // CPython
        "0X10\t20  name after more blanks\n"
        "30 1 name with an end of another system\r\n"
        "ffffffffffffffff 1 overflow\n";
    const PerfMap map = parse_perf_map(content);
    ASSERT_EQ(map.pieces.size(), 5U);
    EXPECT_EQ(map.pieces[0].start, 0x3bd90bcd7eeeU);
    EXPECT_EQ(map.pieces[0].end, 0x3bd90bcd7eee + 0x25U);
    EXPECT_EQ(map.pieces[0].name, "JS:~plantedOuter /srv/busy.js:2:22");
    EXPECT_EQ(map.pieces[1].start, 0x7f1c2c0a1b00U);
    EXPECT_EQ(map.pieces[1].end, 0x7f1c2c0a1c60U);
    EXPECT_EQ(map.pieces[1].name, "Planted.work(I)D");
    EXPECT_EQ(map.pieces[2].name, "py::work:/srv/with some blanks.py");
    EXPECT_EQ(map.pieces[3].name, "name after more blanks");
    EXPECT_EQ(map.pieces[4].name, "name with an end of another system");
    EXPECT_EQ(map.damaged, 1U);
    EXPECT_EQ(map.left_out, 0U);
}

TEST(PerfMap, LeavesOutWhatIsDamagedAndCountsIt) {
    const PerfMap map = parse_perf_map(
        "\n"
        "10\n"
        "10 20\n"
        "10 20 \n"
        "10 0 nothing\n"
        "10 -20 minus\n"
        "zz 20 name\n"
        "11111111111111111 20 too many digits\n"
        "10 ffffffffffffffff over the end\n"
        "0x0x10 20 twice\n"
        "10 20 good\n"
        "10 20 torn");
    ASSERT_EQ(map.pieces.size(), 1U);
    EXPECT_EQ(map.pieces[0].name, "good");
    EXPECT_EQ(map.damaged, 11U);
}

TEST(PerfMap, KeepsAnyBytesAndCutsLongNames) {
    const std::string name("\0\xff\x1b[31m\xc3\x28", 9);
    const std::string content = "10 20 " + name + "\n40 20 " + std::string(100'000, 'x') + "\n";
    const PerfMap map = parse_perf_map(content);
    ASSERT_EQ(map.pieces.size(), 2U);
    EXPECT_EQ(map.pieces[0].name, name);
    EXPECT_EQ(map.pieces[1].name, std::string(512, 'x'));
}

TEST(PerfMap, TakesAsManyAsTheLimitAllows) {
    std::string content;
    for (std::size_t i = 0; i < code_pieces_limit + 3; ++i) content += "1 1 a\n";
    const PerfMap map = parse_perf_map(content);
    EXPECT_EQ(map.pieces.size(), code_pieces_limit);
    EXPECT_EQ(map.left_out, 3U);
    EXPECT_EQ(map.damaged, 0U);
}

TEST(PerfMap, BearsAnyBytes) {
    std::mt19937_64 random(11);
    const std::string alphabet("0123456789abcdefxX \t\r\n-\0\xff", 26);
    for (int round = 0; round < 2000; ++round) {
        std::string content;
        for (std::size_t i = random() % 200; i > 0; --i)
            content += alphabet[random() % alphabet.size()];
        for (const JitPiece& piece : parse_perf_map(content).pieces) {
            ASSERT_LT(piece.start, piece.end);
            ASSERT_FALSE(piece.name.empty());
        }
    }
}

}  // namespace
}  // namespace lagtrap::trace::perf_map_test
