#include "binaries/code/function_frames.hpp"

#include <gtest/gtest.h>

#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::function_frames_test {
namespace {

constexpr std::uint64_t begin = 0x401000;

StackLevels levels_of(std::vector<CallFrameRow> rows) { return {begin, std::move(rows)}; }

TEST(StackLevelsTest, TheStackPointerIsAsAtTheEntryOrDeeper) {
    const auto level = [](const lagtrap_unwind_rule& rule) {
        return levels_of({{0, rule}}).at(begin + 5);
    };
    EXPECT_EQ(level(at_rsp(8)), StackLevel::Entry);
    EXPECT_EQ(level(at_rsp(16)), StackLevel::Deeper);
    EXPECT_EQ(level(rule(LAGTRAP_UNWIND_REGISTER, 6, 8)), StackLevel::Deeper) << "of rbp";
    EXPECT_EQ(level(rule(LAGTRAP_UNWIND_DEREFERENCE, 7, 8)), StackLevel::Deeper);
    for (const auto kind : {LAGTRAP_UNWIND_GAP, LAGTRAP_UNWIND_PLT, LAGTRAP_UNWIND_SIGNAL,
                            LAGTRAP_UNWIND_END, LAGTRAP_UNWIND_UNSUPPORTED})
        EXPECT_EQ(level(rule(kind)), StackLevel::Unknown) << kind;
    // Where rbp is does not matter.
    EXPECT_EQ(level(rule(LAGTRAP_UNWIND_REGISTER, 7, 8, LAGTRAP_UNWIND_RBP_AT_CFA, -16)),
              StackLevel::Entry);
}

TEST(StackLevelsTest, ARuleAppliesUntilTheNextOne) {
    const StackLevels levels = levels_of({{0, at_rsp(8)}, {4, at_rsp(16)}, {9, at_rsp(8)}});
    EXPECT_EQ(levels.at(begin - 1), StackLevel::Unknown);
    EXPECT_EQ(levels.at(begin), StackLevel::Entry);
    EXPECT_EQ(levels.at(begin + 3), StackLevel::Entry);
    EXPECT_EQ(levels.at(begin + 4), StackLevel::Deeper);
    EXPECT_EQ(levels.at(begin + 8), StackLevel::Deeper);
    EXPECT_EQ(levels.at(begin + 9), StackLevel::Entry);
    EXPECT_EQ(levels_of({{4, at_rsp(8)}}).at(begin), StackLevel::Unknown);
    EXPECT_EQ(StackLevels().at(begin), StackLevel::Unknown);
}

TEST(StackLevelsTest, LinkageHasARuleOfItsOwn) {
    EXPECT_TRUE(levels_of({{0, at_rsp(8)}, {4, rule(LAGTRAP_UNWIND_PLT)}}).are_of_linkage());
    EXPECT_FALSE(levels_of({{0, at_rsp(8)}}).are_of_linkage());
}

Result<ElfImage> image_of(const Frames& frames) {
    TestFile file;
    file.sections.push_back({".eh_frame", frames.text(), frames_address, SHF_ALLOC});
    return ElfImage::from_bytes(file.bytes(), "test file");
}

// Instructions: the CFA is at rsp + 16 from the first instruction on.
const std::string deeper = Bytes().u8(define_cfa_offset).uleb(16);

TEST(FunctionFramesTest, ExtentsAreSortedAndHaveTheirBounds) {
    Frames frames;
    const auto cie = frames.usual_cie();
    frames.function(cie, code_at + 0x200, 0x10, deeper);
    frames.function(cie, code_at + 0x100, 0x20, "");
    frames.function(cie, code_at + 0x100, 0x30, deeper);
    const auto image = image_of(frames);
    ASSERT_TRUE(image);
    const FunctionFrames read = FunctionFrames::read(*image);
    ASSERT_EQ(read.extents().size(), 2U);
    const FrameExtent& first = read.extents()[0];
    EXPECT_EQ(first.begin, code_at + 0x100);
    EXPECT_EQ(first.end, code_at + 0x120) << "the first entry counts";
    EXPECT_TRUE(first.begins_as_functions);
    EXPECT_FALSE(read.extents()[1].begins_as_functions);
    EXPECT_EQ(read.extent_at(code_at + 0x0ff), nullptr);
    EXPECT_EQ(read.extent_at(code_at + 0x100), &read.extents()[0]);
    EXPECT_EQ(read.extent_at(code_at + 0x11f), &read.extents()[0]);
    EXPECT_EQ(read.extent_at(code_at + 0x120), nullptr);
    EXPECT_EQ(read.extent_at(code_at + 0x20f), &read.extents()[1]);
    EXPECT_EQ(read.extent_at(code_at + 0x210), nullptr);
    EXPECT_EQ(read.levels_of(read.extents()[1]).at(code_at + 0x205), StackLevel::Deeper);
    EXPECT_EQ(read.levels_of(first).at(code_at + 0x105), StackLevel::Entry);
}

TEST(FunctionFramesTest, UnusableInstructionsLeaveTheLevelUnknown) {
    Frames frames;
    frames.function(frames.usual_cie(), code_at, 0x10, "\x0b");
    const auto image = image_of(frames);
    ASSERT_TRUE(image);
    const FunctionFrames read = FunctionFrames::read(*image);
    ASSERT_EQ(read.extents().size(), 1U);
    EXPECT_TRUE(read.extents()[0].begins_as_functions);
    EXPECT_EQ(read.levels_of(read.extents()[0]).at(code_at), StackLevel::Unknown);
}

TEST(FunctionFramesTest, LandingPadsAreKnown) {
    Frames frames;
    const auto cie = frames.cie("zLR", Bytes().u8(0x1b).u8(0x1b), usual_start());
    for (const std::uint32_t table : {0U, 0x1234U}) {
        const std::uint64_t place = frames_address + frames.size() + 8;
        const std::uint64_t at = code_at + (table == 0 ? 0 : 0x100);
        frames.function_with(cie, Bytes().u32(at - place).u32(0x10).uleb(4).u32(table), "");
    }
    const auto image = image_of(frames);
    ASSERT_TRUE(image);
    const FunctionFrames read = FunctionFrames::read(*image);
    ASSERT_EQ(read.extents().size(), 2U);
    EXPECT_FALSE(read.extents()[0].has_landing_pads);
    EXPECT_TRUE(read.extents()[1].has_landing_pads);
}

TEST(FunctionFramesTest, AFileWithoutUnwindInformationHasNone) {
    const auto image = ElfImage::from_bytes(TestFile().bytes(), "test file");
    ASSERT_TRUE(image);
    EXPECT_TRUE(FunctionFrames::read(*image).extents().empty());
}

}  // namespace
}  // namespace lagtrap::binaries::test::function_frames_test
