#include "binaries/code/go_entry.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/elf_image.hpp"
#include "tests/unit/binaries/support.hpp"

namespace lagtrap::binaries::test::go_entry_test {
namespace {

constexpr std::uint64_t begin = 0x1000, body = 0x100a, more_stack = 0x9000;

Branch branch(BranchKind kind, std::uint64_t address, std::uint64_t target) {
    Branch made;
    made.kind = kind;
    made.address = address;
    made.next = address + 4;
    made.target = target;
    return made;
}

class GoEntry : public testing::Test {
  protected:
    GoEntry() {
        Function mover;
        mover.name = "runtime.morestack_noctxt.abi0";
        mover.address = more_stack;
        auto image = ElfImage::open(store_folder / "libstore.so");
        EXPECT_TRUE(image);
        if (image) code_.emplace(image_.emplace(std::move(*image)), std::vector{mover});
    }
    Result<std::uint64_t> entry(std::vector<Branch> branches) const {
        CodePart part;
        part.begin = begin;
        part.end = begin + 0x100;
        part.branches = std::move(branches);
        return go_entry(*code_, part);
    }

  private:
    std::optional<ElfImage> image_;
    std::optional<ProgramCode> code_;
};

TEST_F(GoEntry, IsTheBeginOfAFunctionWithoutAStackCheck) {
    const auto found = entry({branch(BranchKind::ConditionalJump, 0x1010, 0x1020),
                              branch(BranchKind::Return, 0x1030, 0)});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, begin);
}

TEST_F(GoEntry, IsBehindTheStackCheck) {
    const auto found =
        entry({branch(BranchKind::ConditionalJump, body - 4, 0x1040),
               branch(BranchKind::Return, 0x1030, 0), branch(BranchKind::Call, 0x1040, more_stack),
               branch(BranchKind::Jump, 0x1044, begin)});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, body);
}

TEST_F(GoEntry, IsUnknownIfTheFunctionBeginsWithALoop) {
    for (const BranchKind kind : {BranchKind::Jump, BranchKind::ConditionalJump}) {
        const auto alone = entry({branch(kind, 0x1010, begin)});
        ASSERT_FALSE(alone);
        EXPECT_EQ(alone.error().kind, ErrorKind::Unsupported);
        EXPECT_EQ(alone.error().message,
                  "begins with a loop, so calls and iterations look alike; watch its caller");
        EXPECT_FALSE(entry({branch(BranchKind::ConditionalJump, body - 4, 0x1040),
                            branch(kind, 0x1020, begin), branch(BranchKind::Return, 0x1030, 0),
                            branch(BranchKind::Call, 0x1040, more_stack),
                            branch(BranchKind::Jump, 0x1044, begin)}));
    }
}

TEST_F(GoEntry, IsUnknownIfTheCodeJumpsIntoItsPrologue) {
    const auto found =
        entry({branch(BranchKind::ConditionalJump, body - 4, 0x1040),
               branch(BranchKind::Jump, 0x1020, body), branch(BranchKind::Call, 0x1040, more_stack),
               branch(BranchKind::Jump, 0x1044, begin)});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message,
              "has an unknown prologue, so its calls cannot be identified; watch its caller");
}

}  // namespace
}  // namespace lagtrap::binaries::test::go_entry_test
