#include "binaries/dwarf/dwarf_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/dwarf/dwarf_names.hpp"
#include "tests/unit/binaries/dwarf/made_dwarf.hpp"

namespace lagtrap::binaries::test::dwarf_file_test {
namespace {

using ::testing::EndsWith;
constexpr DwarfFile::Limits limits{1 << 20, 1 << 20};

Error error_of(const std::vector<TestSection>& sections, const DwarfFile::Limits& with = limits) {
    const TemporaryFolder folder;
    TestFile made;
    made.sections = sections;
    write(folder.path() / "made", made.bytes());
    const auto file = DwarfFile::open(folder.path() / "made", with);
    EXPECT_FALSE(file);
    return file ? Error{} : file.error();
}

TEST(DwarfFileTest, SaysWhyThereIsNone) {
    Error error = error_of({{".debug_line", "lines"}});
    EXPECT_EQ(error.kind, ErrorKind::NotFound);
    EXPECT_THAT(error.message, EndsWith("made: has no debug information (DWARF)"));
    error = error_of({{".debug_info", std::string(20, '\x11')}, {".debug_abbrev", "x"}});
    EXPECT_EQ(error.kind, ErrorKind::Invalid);
    EXPECT_THAT(error.message,
                EndsWith("made: its debug information is damaged or of an unknown kind"));
    EXPECT_EQ(error_of({{".debug_info", "x"}}, {100, 1 << 20}).kind, ErrorKind::TooLarge);
    EXPECT_EQ(DwarfFile::open("/nonexistent", limits).error().kind, ErrorKind::NotFound);
}

TEST(DwarfFileTest, UnitsNeedMemory) {
    // Half of it is for units of 1200 bytes: one fits, and would then be the last allowed.
    MadeDwarf little;
    const auto refused = little.file({1 << 20, 2'399});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::TooLarge);
    EXPECT_THAT(refused.error().message, EndsWith("made: its debug information exceeds the memory "
                                                  "limit of 2399 bytes lets it"));
    MadeDwarf enough;
    EXPECT_TRUE(enough.file({1 << 20, 4'800}));
}

TEST(DwarfFileTest, ReadsItsUnitAndForgetsIt) {
    MadeDwarf made;
    const auto function = made.add(DW_TAG_subprogram, {MadeDwarf::text(DW_AT_name, "f")});
    auto file = made.file();
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_EQ(file->units().size(), 1U);
    const DwarfUnit& unit = file->units()[0];
    EXPECT_EQ(unit.start, 0U);
    EXPECT_EQ(file->unit_at(0), 0U);
    EXPECT_EQ(file->unit_at(unit.end - 1), 0U);
    EXPECT_EQ(file->unit_at(unit.end), std::nullopt);
    EXPECT_EQ(file->unpacked_bytes(), 0U);
    EXPECT_FALSE(file->file_was_cut());
    EXPECT_FALSE(file->section(".debug_abbrev").empty());
    EXPECT_EQ(file->section(".debug_line"), "");
    for (int again = 0; again < 2; ++again) {
        Dwarf* const dwarf = file->dwarf(nullptr);
        ASSERT_NE(dwarf, nullptr);
        EXPECT_EQ(file->dwarf(nullptr), dwarf);
        Dwarf_Die entry = entry_at(*file, function);
        EXPECT_EQ(text_of(entry, DW_AT_name), "f");
        EXPECT_EQ(file->held_bytes(), 0U);
        EXPECT_TRUE(file->touch(0));
        EXPECT_EQ(file->held_bytes(), unit.abbreviations_bytes * 24);
        EXPECT_TRUE(file->touch(0));
        EXPECT_EQ(file->held_bytes(), unit.abbreviations_bytes * 24) << "once each";
        file->release_pages();
        file->forget();
        EXPECT_EQ(file->held_bytes(), 0U);
    }
}

// libdw must not open the file that dwz names.
TEST(DwarfFileTest, OtherSectionsAreHidden) {
    MadeDwarf made;
    auto file = made.file();
    ASSERT_TRUE(file);
    EXPECT_EQ(file->section(".gnu_debugaltlink"), "");
    EXPECT_EQ(::dwarf_getalt(file->dwarf(nullptr)), nullptr);
    MadeDwarf common;
    auto other = common.file();
    ASSERT_TRUE(other);
    file->forget();
    EXPECT_EQ(::dwarf_getalt(file->dwarf(other->dwarf(nullptr))), other->dwarf(nullptr));
}

}  // namespace
}  // namespace lagtrap::binaries::test::dwarf_file_test
