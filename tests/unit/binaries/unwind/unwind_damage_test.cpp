// Damaged and hostile unwind information: damaged parts are skipped, without other effects.
#include <random>

#include <gtest/gtest.h>

#include "binaries/unwind/unwind_table.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::binaries::test::unwind_damage_test {
namespace {

constexpr std::uint64_t good = code_at + 0x100;
constexpr std::uint64_t bad = code_at + 0x200;
constexpr std::uint64_t last = code_at + 0x300;

lagtrap_unwind_kind kind_at(const UnwindTable& table, std::uint64_t address) {
    return kind_of(find_unwind_rule(table, address));
}

// A function with these instructions between two valid ones.
Result<UnwindTable> table_with(const std::string& instructions) {
    Frames frames;
    const auto cie = frames.usual_cie();
    frames.function(cie, good, 64, "");
    frames.function(cie, bad, 64, instructions);
    frames.function(cie, last, 64, "");
    return table_of(frames);
}

TEST(DamagedUnwindInformation, LeavesOutTheFunctionAndKeepsTheOthers) {
    std::string deep;
    for (int depth = 0; depth < 65; ++depth) deep += '\x0a';
    const std::vector<std::string> damaged{
        "\x0b",                                         // restore_state without remember_state
        Bytes().u8(0x1d),                               // no such instruction
        Bytes().u8(0x2d),                               // of another machine
        Bytes().u8(0x0e),                               // a missing operand
        Bytes().u8(0x04).u16(1),                        // half an operand
        Bytes().u8(0x0f).uleb(200).u8(0x77),            // an expression beyond the end
        Bytes().u8(0x10).uleb(6).uleb(1ULL << 62),      //
        Bytes().u8(0x0e).raw(std::string(11, '\x80')),  // a number without an end
        Bytes().u8(0x01).u32(0 - 0x100000U),            // an address before the function
        deep,
    };
    for (std::size_t index = 0; index < damaged.size(); ++index) {
        const auto table = table_with(damaged[index]);
        ASSERT_TRUE(table) << table.error().message;
        EXPECT_EQ(rows_of(*table).problem, "");
        EXPECT_EQ(kind_at(*table, good), LAGTRAP_UNWIND_REGISTER) << index;
        EXPECT_EQ(kind_at(*table, bad), LAGTRAP_UNWIND_GAP) << index;
        EXPECT_EQ(kind_at(*table, last), LAGTRAP_UNWIND_REGISTER) << index;
    }
}

TEST(DamagedUnwindInformation, EndsAtALengthBeyondTheSection) {
    Frames frames;
    const auto cie = frames.usual_cie();
    frames.function(cie, good, 64, "");
    frames.bytes().u32(0x7fffffff);
    frames.function(cie, last, 64, "");
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(kind_at(*table, good), LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(kind_at(*table, last), LAGTRAP_UNWIND_GAP);
}

TEST(DamagedUnwindInformation, GoesOnBehindAnEmptyEntry) {
    Frames frames;
    const auto cie = frames.usual_cie();
    frames.function(cie, good, 64, "");
    frames.bytes().u32(0);
    frames.function(cie, last, 64, "");
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(kind_at(*table, last), LAGTRAP_UNWIND_REGISTER);
}

TEST(DamagedUnwindInformation, NeedsACieThatIsOne) {
    Frames frames;
    const auto cie = frames.usual_cie();
    frames.function(cie, good, 64, "");
    const std::uint64_t place = frames_address + frames.size() + 8;
    const std::string head = Bytes().u32(bad - place).u32(64).uleb(0);
    frames.function_with(cie + 1, head, "");                           // into the middle of it
    frames.entry(0xfffffff0, head);                                    // before the section
    frames.entry(static_cast<std::uint32_t>(frames.size() - 20), "");  // no room for anything
    frames.function(cie, last, 64, "");
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(kind_at(*table, bad), LAGTRAP_UNWIND_GAP);
    EXPECT_EQ(kind_at(*table, last), LAGTRAP_UNWIND_REGISTER);
}

TEST(DamagedUnwindInformation, ReadsEntriesWithExtendedLengths) {
    Frames frames;
    const auto cie = frames.usual_cie();
    const std::uint64_t entry = frames.size();
    const std::uint64_t place = frames_address + entry + 16;
    const std::string content =
        Bytes().u32(entry + 12 - cie).u32(good - place).u32(64).uleb(0).u8(0x0e).uleb(24).u8(0);
    frames.bytes().u32(0xffffffff).u64(content.size()).raw(content);
    frames.function(cie, last, 64, "");
    frames.bytes().u32(0xffffffff).u64(~std::uint64_t{0});
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(find_unwind_rule(*table, good).cfa_offset, 24);
    EXPECT_EQ(kind_at(*table, last), LAGTRAP_UNWIND_REGISTER);
}

TEST(DamagedUnwindInformation, WithADamagedCieAllItsFunctionsAreGaps) {
    Frames frames;
    const auto damaged = frames.cie("zR", Bytes().u8(0x1b), Bytes().raw(usual_start()).u8(0x0b));
    // returns through another register
    const auto other = frames.cie("zR", Bytes().u8(0x1b), usual_start(), 1, 15);
    const auto cie = frames.usual_cie();
    frames.function(damaged, bad, 64, "");
    frames.function(other, good, 64, "");
    frames.function(cie, last, 64, "");
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(kind_at(*table, good), LAGTRAP_UNWIND_GAP);
    EXPECT_EQ(kind_at(*table, bad), LAGTRAP_UNWIND_GAP);
    EXPECT_EQ(kind_at(*table, last), LAGTRAP_UNWIND_REGISTER);
}

TEST(DamagedUnwindInformation, NeedsACfaBeforePartsOfItChange) {
    Frames frames;
    const auto cie = frames.cie("zR", Bytes().u8(0x1b), Bytes().u8(0x80 | 16).uleb(1));
    frames.function(cie, good, 64, Bytes().u8(0x0c).uleb(7).uleb(8));
    frames.function(cie, bad, 64, Bytes().u8(0x0e).uleb(8));
    frames.function(cie, last, 64, "");
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(kind_at(*table, good), LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(kind_at(*table, bad), LAGTRAP_UNWIND_GAP);
    EXPECT_EQ(kind_at(*table, last), LAGTRAP_UNWIND_UNSUPPORTED);
}

// If the instructions of a CIE were executed for each of its functions, or those of an outer
// function again after each inner one, this would take hours.
TEST(DamagedUnwindInformation, TakesNoMoreThanLinearTime) {
    Frames frames;
    const auto cie = frames.cie("zR", Bytes().u8(0x1b),
                                Bytes().raw(usual_start()).raw(std::string(2'000'000, '\x2e')));
    Bytes around;
    for (int row = 0; row < 1'000'000; ++row) around.u8(0x0e).uleb(row % 2 == 0 ? 16 : 24);
    frames.function(cie, code_at, code_bytes, Bytes().raw(around).u8(0x41).u8(0x0e).uleb(32));
    for (std::uint64_t number = 0; number < 200'000; ++number)
        frames.function(cie, code_at + 2 + number % (code_bytes - 64), 64 - number % 64, "");
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(rows_of(*table).problem, "");
    EXPECT_EQ(find_unwind_rule(*table, code_at + 1).cfa_offset, 32);
    EXPECT_EQ(find_unwind_rule(*table, code_at + 2).cfa_offset, 8);
    EXPECT_EQ(find_unwind_rule(*table, code_at + code_bytes - 1).cfa_offset, 32);
}

// Checks that every result has the layout that the kernel side needs.
void expect_sound(const std::string& bytes, std::size_t& tables) {
    const auto image = ElfImage::from_bytes(bytes, "damaged file");
    if (!image) return;
    const auto table = make_unwind_table(*image);
    if (!table) {
        ASSERT_FALSE(table.error().message.empty());
        return;
    }
    ++tables;
    ASSERT_EQ(rows_of(*table).problem, "");
    for (const auto& segment : table->segments)
        EXPECT_LE(kind_at(*table, segment.address + segment.size_bytes / 2),
                  LAGTRAP_UNWIND_UNSUPPORTED);
}

TEST(DamagedUnwindInformation, OfRealFilesNeverGivesAnUnsoundTable) {
    const std::string whole =
        content_of(std::filesystem::path(build_folder() + "/binaries/frames") / "frames_lazy.so");
    const auto image = ElfImage::from_bytes(whole, "whole file");
    ASSERT_TRUE(image) << image.error().message;
    const ElfSection* section = image->find_section(".eh_frame");
    ASSERT_NE(section, nullptr);
    std::mt19937_64 random(20'24);
    std::size_t tables = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string bytes = whole;
        // Changes one to four bytes of .eh_frame, and in every fourth round of the whole file.
        for (std::uint64_t change = 0; change <= random() % 4; ++change) {
            const bool anywhere = round % 4 == 0;
            const auto place =
                anywhere ? random() % whole.size() : section->offset + random() % section->size;
            bytes[place] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
        }
        expect_sound(bytes, tables);
    }
    EXPECT_GT(tables, 2000U);
    for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 500)
        expect_sound(whole.substr(0, size), tables);
}

TEST(DamagedUnwindInformation, RandomBytesAreNoTable) {
    std::mt19937_64 random(7);
    std::size_t tables = 0;
    for (int round = 0; round < 300; ++round) {
        Bytes bytes;
        for (int word = 0; word < 300; ++word) bytes.u64(random());
        // Lengths, which lead from entry to entry.
        std::string content = bytes;
        for (std::size_t place = 0; place + 8 < content.size();) {
            const std::uint32_t length = 12 + random() % 40;
            std::memcpy(content.data() + place, &length, 4);
            const std::uint32_t id = random() % 3 == 0 ? 0 : static_cast<std::uint32_t>(place + 4);
            std::memcpy(content.data() + place + 4, &id, 4);
            place += 4 + length;
        }
        TestFile file;
        file.sections.push_back({".eh_frame", content, frames_address, SHF_ALLOC});
        expect_sound(file.bytes(), tables);
    }
}

}  // namespace
}  // namespace lagtrap::binaries::test::unwind_damage_test
