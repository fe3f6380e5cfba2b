// Jumps of procedure linkage tables for which the linker wrote no unwind information.
#include "binaries/code/linkage_jumps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/unwind/unwind_table.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::linkage_jumps_test {
namespace {

using ::testing::ElementsAre;

constexpr lagtrap_unwind_rule called{8, 0, 0, LAGTRAP_UNWIND_REGISTER, 7};
constexpr lagtrap_unwind_rule gap{};

std::string jump() { return Bytes().raw("\xff\x25").u32(0x1000); }
std::string end_branch() { return "\xf3\x0f\x1e\xfa"; }
// The rest of an entry, and the first entry, to which all others jump until they are bound.
std::string binding() { return Bytes().u8(0x68).u32(1).u8(0xe9).u32(0x100); }
std::string first_entry() {
    return Bytes().raw("\xff\x35").u32(0x1000).raw(jump()).raw("\x0f\x1f\x40").u8(0);
}

TestSection linkage(const std::string& name, std::uint64_t address, const std::string& code,
                    std::uint64_t flags = SHF_ALLOC | SHF_EXECINSTR) {
    return {name, code, address, flags};
}

// A file with these sections and a function of 64 bytes at `function`.
Result<UnwindTable> table_with(std::vector<TestSection> sections,
                               std::uint64_t function = code_at + 0x800, std::uint64_t entry = 0) {
    Frames frames;
    frames.function(frames.usual_cie(), function, 64, "");
    TestFile file;
    file.sections = std::move(sections);
    file.sections.push_back({".eh_frame", frames.text(), frames_address, SHF_ALLOC});
    file.entry = entry;
    return table_of(file);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> jumps_in(std::vector<TestSection> sections) {
    TestFile file;
    file.sections = std::move(sections);
    const auto image = ElfImage::from_bytes(file.bytes(), "test file");
    EXPECT_TRUE(image) << image.error().message;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const auto& [begin, end] : read_linkage_jumps(*image))
        places.emplace_back(begin - code_at, end - code_at);
    return places;
}
std::pair<std::uint64_t, std::uint64_t> at(std::uint64_t begin, std::uint64_t end) {
    return {begin, end};
}

TEST(LinkageJumps, AreFoundInTheFormsThatLinkersWrite) {
    const std::string lazy = first_entry() + jump() + binding() + jump() + binding();
    EXPECT_THAT(jumps_in({linkage(".plt", code_at, lazy)}), ElementsAre(at(16, 22), at(32, 38)));
    const std::string bare = jump() + "\x66\x90" + jump() + "\x66\x90";
    EXPECT_THAT(jumps_in({linkage(".plt.got", code_at, bare)}), ElementsAre(at(0, 6), at(8, 14)));
    const std::string tracked =
        end_branch() + "\xf2" + jump() + "\x0f\x1f\x44" + std::string(2, '\0');
    EXPECT_THAT(jumps_in({linkage(".plt.sec", code_at, tracked + tracked)}),
                ElementsAre(at(0, 11), at(16, 27)));
    EXPECT_THAT(jumps_in({linkage(".iplt", code_at, end_branch() + jump())}),
                ElementsAre(at(0, 10)));
}

TEST(LinkageJumps, AreNotTakenFromOtherCodeOrFromWhatIsCutShort) {
    EXPECT_THAT(jumps_in({linkage(".text", code_at, jump())}), ElementsAre());
    EXPECT_THAT(jumps_in({linkage(".plt", code_at, jump(), SHF_ALLOC)}), ElementsAre());
    EXPECT_THAT(jumps_in({linkage(".plt", code_at, jump().substr(0, 5))}), ElementsAre());
    EXPECT_THAT(jumps_in({linkage(".plt", code_at, end_branch())}), ElementsAre());
    EXPECT_THAT(jumps_in({linkage(".plt", code_at, "")}), ElementsAre());
    EXPECT_THAT(jumps_in({linkage(".plt", 0 - std::uint64_t{4}, jump())}), ElementsAre());
}

TEST(LinkageJumps, DoNotLieOverEachOther) {
    EXPECT_THAT(jumps_in({linkage(".plt", code_at, jump()), linkage(".iplt", code_at + 4, jump())}),
                ElementsAre(at(0, 6)));
}

TEST(UnwindTable, KnowsTheCallerOfAJumpThatNoFunctionTellsOf) {
    const auto table =
        table_with({linkage(".plt", code_at + 0x20, first_entry() + jump() + binding())});
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(rows_of(*table).problem, "");
    for (const std::uint64_t place : {0x20, 0x26, 0x36, 0x3b, 0x40})
        EXPECT_THAT(find_unwind_rule(*table, code_at + place), IsRule(gap)) << place;
    for (const std::uint64_t place : {0x30, 0x35})
        EXPECT_THAT(find_unwind_rule(*table, code_at + place), IsRule(called)) << place;
}

TEST(UnwindTable, ReachesToTheJumpsBeforeAndBehindItsFunctions) {
    for (const std::uint64_t place : {std::uint64_t{0x10}, std::uint64_t{0xff0}}) {
        const auto table = table_with({linkage(".plt", code_at + place, jump())}, code_at + 0x810);
        ASSERT_TRUE(table) << table.error().message;
        EXPECT_THAT(find_unwind_rule(*table, code_at + place), IsRule(called)) << place;
        EXPECT_THAT(find_unwind_rule(*table, code_at + 0x810), IsRule(called))
            << "the function's own";
    }
}

TEST(UnwindTable, TakesAFunctionsWordBeforeAJumps) {
    Frames frames;
    frames.function(frames.usual_cie(), code_at, 64, Bytes().u8(0x0e).uleb(32));
    TestFile file;
    file.sections = {linkage(".plt", code_at, jump()),
                     {".eh_frame", frames.text(), frames_address, SHF_ALLOC}};
    const auto table = table_of(file);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(find_unwind_rule(*table, code_at).cfa_offset, 32);
}

TEST(UnwindTable, TakesTheStartCodeForTheFirstFrameThoughJumpsLieBeforeIt) {
    const std::uint64_t entry = code_at + 0x7e0;
    const auto table =
        table_with({linkage(".plt", entry - 16, jump()), linkage(".iplt", entry + 8, jump())},
                   code_at + 0x800, entry);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(rows_of(*table).problem, "");
    EXPECT_THAT(find_unwind_rule(*table, entry - 16), IsRule(called));
    EXPECT_EQ(kind_of(find_unwind_rule(*table, entry)), LAGTRAP_UNWIND_END);
    EXPECT_EQ(kind_of(find_unwind_rule(*table, entry + 8)), LAGTRAP_UNWIND_END);
}

TEST(UnwindTable, LeavesOutJumpsThatAreNotInItsCode) {
    const auto table = table_with(
        {linkage(".plt", code_at + code_bytes - 4, jump()), linkage(".iplt", 8, jump())});
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(table->base_address, code_at + 0x800);
}

}  // namespace
}  // namespace lagtrap::binaries::test::linkage_jumps_test
