#include "binaries/code/code_reach.hpp"

#include <gtest/gtest.h>

#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::code_reach_test {
namespace {

constexpr std::uint64_t table_address = 0x700000;

Branch branch(BranchKind kind, std::uint64_t at, std::uint64_t target = 0) {
    Branch made;
    made.kind = kind;
    made.address = code_at + at;
    made.next = made.address + 1;
    made.target = code_at + target;
    return made;
}

CodePart part(std::uint64_t begin, std::uint64_t end, std::vector<Branch> branches) {
    return {code_at + begin, code_at + end, 0, std::move(branches)};
}

// Of a file with a table of pointers to these places of its code.
std::vector<std::vector<bool>> reached(const std::vector<CodePart>& parts,
                                       const std::vector<std::uint64_t>& table = {}) {
    TestFile file;
    Bytes pointers;
    for (const std::uint64_t target : table) pointers.u64(code_at + target);
    pointers.u64(0);
    file.sections.push_back({".rodata", pointers.text(), table_address, SHF_ALLOC});
    const auto image = ElfImage::from_bytes(file.bytes(), "test file");
    EXPECT_TRUE(image);
    if (!image) return {};
    return reached_branches(ProgramCode(*image, {}), parts);
}

using Reached = std::vector<std::vector<bool>>;

TEST(CodeReach, CodeBehindAReturnIsReachedOnlyByJumps) {
    EXPECT_EQ(
        reached({part(0, 10, {branch(BranchKind::Return, 1), branch(BranchKind::Return, 5)})}),
        (Reached{{true, false}}));
    EXPECT_EQ(reached({part(0, 10,
                            {branch(BranchKind::ConditionalJump, 1, 5),
                             branch(BranchKind::Return, 3), branch(BranchKind::Return, 5)})}),
              (Reached{{true, true, true}}));
    EXPECT_EQ(reached({part(0, 10,
                            {branch(BranchKind::Jump, 1, 4), branch(BranchKind::Return, 3),
                             branch(BranchKind::Return, 5)})}),
              (Reached{{true, false, true}}));
}

TEST(CodeReach, CallsGoOnAndOthersDoNot) {
    for (const BranchKind kind :
         {BranchKind::Call, BranchKind::CallThroughSlot, BranchKind::IndirectCall})
        EXPECT_EQ(reached({part(0, 10, {branch(kind, 1), branch(BranchKind::Return, 3)})}),
                  (Reached{{true, true}}));
    for (const BranchKind kind : {BranchKind::Return, BranchKind::FarReturn, BranchKind::Stop,
                                  BranchKind::JumpThroughSlot, BranchKind::Jump})
        EXPECT_EQ(reached({part(0, 10, {branch(kind, 1, 99), branch(BranchKind::Return, 3)})}),
                  (Reached{{true, false}}));
}

TEST(CodeReach, JumpsLeadToOtherParts) {
    const std::vector<CodePart> parts{
        part(0, 10, {branch(BranchKind::Jump, 1, 0x20), branch(BranchKind::Return, 5)}),
        part(0x20, 0x30, {branch(BranchKind::Jump, 0x21, 4), branch(BranchKind::Return, 0x25)}),
        part(0x30, 0x40, {branch(BranchKind::Return, 0x31)})};
    EXPECT_EQ(reached(parts), (Reached{{true, true}, {true, false}, {false}}));
}

TEST(CodeReach, LoopsEnd) {
    EXPECT_EQ(
        reached({part(
            0, 10, {branch(BranchKind::ConditionalJump, 1, 0), branch(BranchKind::Jump, 3, 0)})}),
        (Reached{{true, true}}));
}

TEST(CodeReach, SwitchesLeadToTheirCases) {
    Branch jump = branch(BranchKind::IndirectJump, 1);
    jump.table = TableKind::Pointers;
    jump.table_address = table_address;
    const std::vector<CodePart> parts{
        part(0, 10,
             {jump, branch(BranchKind::Return, 3), branch(BranchKind::Return, 5),
              branch(BranchKind::Return, 7)})};
    EXPECT_EQ(reached(parts, {7, 4}), (Reached{{true, false, true, true}}));
    // The first target outside ends the table.
    EXPECT_EQ(reached(parts, {4, 99, 2}), (Reached{{true, false, true, false}}));
    // With unknown targets, everything may be reached.
    EXPECT_EQ(reached(parts, {99}), (Reached{{true, true, true, true}}));
}

TEST(CodeReach, LandingPadsAreReachedWithoutJumps) {
    std::vector<CodePart> parts{
        part(0, 10, {branch(BranchKind::Return, 1), branch(BranchKind::Return, 5)}),
        part(0x20, 0x30, {branch(BranchKind::Return, 0x21)})};
    parts[1].has_landing_pads = true;
    EXPECT_EQ(reached(parts), (Reached{{true, true}, {true}}));
}

}  // namespace
}  // namespace lagtrap::binaries::test::code_reach_test
