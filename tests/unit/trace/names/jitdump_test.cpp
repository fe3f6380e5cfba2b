#include "trace/names/jitdump.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trace/jitdump_writer.hpp"

namespace lagtrap::trace::jitdump_test {
namespace {

using testing::HasSubstr;

TEST(Jitdump, ReadsLoadsAndMovesAndPassesOverTheRest) {
    JitdumpWriter writer;
    writer.other(4, "unwinding information");
    writer.other(2, "lines of the source");
    writer.load(100, 0x1000, 5, "work", std::string(0x40, '\x90'));
    writer.other(99, "of a later version");
    writer.move(200, 0x1000, 0x3000, 0x40, 5);
    writer.load(300, 0x1000, 6, "other", std::string(0x20, '\x90'));
    writer.other(3, "");
    writer.load(400, 0x5000, 7, "after the end", "x");
    const auto dump = parse_jitdump(writer.bytes);
    ASSERT_TRUE(dump.ok()) << dump.error().message;
    EXPECT_EQ(dump->damaged, 0U);
    ASSERT_EQ(dump->pieces.size(), 3U);
    EXPECT_EQ(dump->pieces[0].start, 0x1000U);
    EXPECT_EQ(dump->pieces[0].end, 0x1040U);
    EXPECT_EQ(dump->pieces[0].from_ns, 100U);
    EXPECT_EQ(dump->pieces[0].name, "work");
    EXPECT_EQ(dump->pieces[1].start, 0x3000U);
    EXPECT_EQ(dump->pieces[1].end, 0x3040U);
    EXPECT_EQ(dump->pieces[1].from_ns, 200U);
    EXPECT_EQ(dump->pieces[1].name, "work");
    EXPECT_EQ(dump->pieces[2].name, "other");
}

TEST(Jitdump, HasNoTimesWhereTheyAreTheProcessors) {
    JitdumpWriter writer(1);
    writer.load(0x123456789, 0x1000, 1, "work", "code");
    EXPECT_EQ(parse_jitdump(writer.bytes)->pieces.at(0).from_ns, 0U);
}

TEST(Jitdump, RefusesWhatItCanNotReadAndSaysWhy) {
    EXPECT_THAT(parse_jitdump("short").error().message, HasSubstr("5 bytes"));
    EXPECT_THAT(parse_jitdump(std::string(100, 'x')).error().message, HasSubstr("no jitdump"));
    const auto other_order = parse_jitdump(JitdumpWriter(0, 0x4454694a).bytes);
    EXPECT_EQ(other_order.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(other_order.error().message, HasSubstr("byte order"));
    const auto version = parse_jitdump(JitdumpWriter(0, 0x4a695444, 2).bytes);
    EXPECT_EQ(version.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(version.error().message, HasSubstr("version 2"));
    std::string long_header = JitdumpWriter().bytes;
    long_header[8] = 41;
    EXPECT_EQ(parse_jitdump(long_header).error().message,
              "announces a header of 41 bytes; it has 40");
    EXPECT_EQ(parse_jitdump("short").error().message,
              "has 5 bytes, less than the 40 of a jitdump's header");
    EXPECT_EQ(parse_jitdump(std::string(100, 'x')).error().message,
              "is no jitdump: it does not begin with the bytes DTiJ");
    EXPECT_EQ(other_order.error().message, "is a jitdump of a machine with the other byte order");
    EXPECT_EQ(version.error().message, "is a jitdump of version 2; known is 1");
    std::string short_header = JitdumpWriter().bytes;
    short_header[8] = 39;
    EXPECT_FALSE(parse_jitdump(short_header));
    // A longer header, from a later version, is passed over.
    JitdumpWriter later;
    later.bytes[8] = 44;
    later.bytes += "more";
    later.load(100, 0x1000, 5, "work", "x");
    EXPECT_EQ(parse_jitdump(later.bytes)->pieces.at(0).name, "work");
}

TEST(Jitdump, CountsWhatIsDamaged) {
    JitdumpWriter writer;
    writer.other(0, "too short for a load");
    writer.other(0, std::string(40, '\1') + "name without its end");
    writer.other(1, "too short for a move");
    writer.move(1, 0, 0x1000, 1, 42);  // of code that was never loaded
    writer.load(1, 0x1000, 1, "", "no name");
    writer.load(1, 0x1000, 1, "no code", "");
    writer.load(1, ~std::uint64_t{0}, 1, "over the end", "xx");
    writer.load(1, 0x1000, 1, "good", "x");
    const std::string whole = writer.bytes;
    writer.load(1, 0x2000, 1, "torn", "xxxx");
    const auto dump =
        parse_jitdump(std::string_view(writer.bytes).substr(0, writer.bytes.size() - 1));
    ASSERT_EQ(dump->pieces.size(), 1U);
    EXPECT_EQ(dump->pieces[0].name, "good");
    EXPECT_EQ(dump->damaged, 8U);
    EXPECT_EQ(parse_jitdump(whole)->damaged, 7U);
}

TEST(Jitdump, BearsAnyBytes) {
    JitdumpWriter writer;
    for (std::uint64_t i = 0; i < 20; ++i) {
        writer.load(i, 0x1000 * i, i, "function " + std::to_string(i), std::string(32, 'c'));
        writer.move(i, 0x1000 * i, 0x100000 + 0x1000 * i, 32, i);
    }
    std::mt19937_64 random(3);
    for (int round = 0; round < 3000; ++round) {
        std::string bytes = writer.bytes.substr(0, 40 + random() % (writer.bytes.size() - 40));
        for (int i = 0; i < 8; ++i)
            if (bytes.size() > 40)
                bytes[40 + random() % (bytes.size() - 40)] = static_cast<char>(random());
        const auto dump = parse_jitdump(bytes);
        ASSERT_TRUE(dump.ok());
        for (const JitPiece& piece : dump->pieces) {
            ASSERT_LT(piece.start, piece.end);
            ASSERT_LE(piece.name.size(), code_name_limit_bytes);
        }
    }
}

TEST(Jitdump, IsKnownByItsName) {
    EXPECT_TRUE(is_jitdump_path("/tmp/jit-1.dump"));
    EXPECT_TRUE(is_jitdump_path("/srv/user/.debug/jit/java-jit-20260101.XXaB/jit-123456.dump"));
    for (const char* other : {"/tmp/jit-.dump", "/tmp/jit-1.dum", "/tmp/jit-1a.dump",
                              "/tmp/jit-1.dump (deleted)", "", "/tmp/xjit-1.dump", "jit-1.dump/x"})
        EXPECT_FALSE(is_jitdump_path(other)) << other;
}

}  // namespace
}  // namespace lagtrap::trace::jitdump_test
