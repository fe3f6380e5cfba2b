#include "binaries/dwarf/dwarf_scopes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/binaries/dwarf/made_dwarf.hpp"

namespace lagtrap::binaries::test::dwarf_scopes_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
constexpr CodeBounds bounds{0x1000, 0x9000};
constexpr std::uint64_t many_steps = 1000;
constexpr std::uint64_t unit_offset = 11;

UnitFunctions functions_of(MadeDwarf& made, Below within = Below::Skip,
                           const CodeBounds& code = bounds, std::uint64_t steps = many_steps) {
    UnitFunctions functions;
    auto file = made.file();
    EXPECT_TRUE(file) << file.error().message;
    if (file) functions.scan(entry_at(*file, unit_offset), end_of_unit(*file), within, code, steps);
    return functions;
}

TEST(UnitFunctionsTest, AreFoundByTheirCode) {
    MadeDwarf made;
    const auto first = made.add(DW_TAG_subprogram, MadeDwarf::code(0x2000, 0x10));
    const auto second = made.add(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x10));
    made.add(DW_TAG_subprogram, {});
    const UnitFunctions functions = functions_of(made);
    EXPECT_EQ(functions.find(0x0fff), std::nullopt);
    EXPECT_EQ(functions.find(0x1000), second);
    EXPECT_EQ(functions.find(0x100f), second);
    EXPECT_EQ(functions.find(0x1010), std::nullopt);
    EXPECT_EQ(functions.find(0x2000), first);
    EXPECT_EQ(functions.find(0x3000), std::nullopt);
    EXPECT_GT(functions.memory_bytes(), 0U);
}

TEST(UnitFunctionsTest, TheInnermostIsTheSmallest) {
    MadeDwarf made;
    const auto outer = made.add(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x100));
    const auto inner = made.add(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x20));
    const auto last = made.add(DW_TAG_subprogram, MadeDwarf::code(0x1080, 0x10));
    const UnitFunctions functions = functions_of(made);
    EXPECT_EQ(functions.find(0x1010), inner);
    EXPECT_EQ(functions.find(0x1040), outer);
    EXPECT_EQ(functions.find(0x1085), last);
    EXPECT_EQ(functions.find(0x10ff), outer) << "behind a shorter one";
}

TEST(UnitFunctionsTest, OfFunctionsWithTheSameCodeTheLastIsFound) {
    MadeDwarf made;
    made.add(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x10));
    const auto last = made.add(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x10));
    EXPECT_EQ(functions_of(made).find(0x1000), last);
}

TEST(UnitFunctionsTest, OutsideTheCodeAreOfDroppedFunctions) {
    MadeDwarf made;
    made.add(DW_TAG_subprogram, MadeDwarf::code(0xfff, 0x10));
    made.add(DW_TAG_subprogram, MadeDwarf::code(0x8ff0, 0x11));
    const auto last = made.add(DW_TAG_subprogram, MadeDwarf::code(0x8fe0, 0x20));
    made.add(DW_TAG_subprogram, MadeDwarf::code(0x2000, 0));
    const UnitFunctions functions = functions_of(made);
    EXPECT_EQ(functions.find(0x1000), std::nullopt);
    EXPECT_EQ(functions.find(0x8fff), last);
    EXPECT_EQ(functions.find(0x2000), std::nullopt);
}

TEST(UnitFunctionsTest, WithinTypesAndFunctionsAreSearchedForOnlyIfWanted) {
    const auto scan = [](unsigned tag, Below within) {
        MadeDwarf made;
        made.open(tag, {});
        made.add(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x10));
        made.close();
        return functions_of(made, within).find(0x1000).has_value();
    };
    for (const unsigned tag : {DW_TAG_namespace, DW_TAG_module}) {
        EXPECT_TRUE(scan(tag, Below::Skip));
        EXPECT_TRUE(scan(tag, Below::Visit));
    }
    for (const unsigned tag : {DW_TAG_structure_type, DW_TAG_subprogram}) {
        EXPECT_FALSE(scan(tag, Below::Skip));
        EXPECT_TRUE(scan(tag, Below::Visit));
    }
}

TEST(UnitFunctionsTest, StepsEndTheSearch) {
    const auto is_found = [](std::uint64_t steps) {
        MadeDwarf made;
        made.add(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x10));
        made.add(DW_TAG_subprogram, MadeDwarf::code(0x2000, 0x10));
        return functions_of(made, Below::Skip, bounds, steps).find(0x2000).has_value();
    };
    // An entry and a range each.
    EXPECT_TRUE(is_found(4));
    EXPECT_FALSE(is_found(3));
}

TEST(UnitFunctionsTest, AScanReplacesTheOneBefore) {
    MadeDwarf made, other;
    made.add(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x10));
    other.add(DW_TAG_subprogram, MadeDwarf::code(0x2000, 0x10));
    auto file = made.file(), second = other.file();
    ASSERT_TRUE(file && second);
    UnitFunctions functions;
    std::uint64_t steps = many_steps;
    functions.scan(entry_at(*file, unit_offset), end_of_unit(*file), Below::Skip, bounds, steps);
    functions.scan(entry_at(*second, unit_offset), end_of_unit(*second), Below::Skip, bounds,
                   steps);
    EXPECT_FALSE(functions.find(0x1000));
    EXPECT_TRUE(functions.find(0x2000));
    EXPECT_EQ(steps, many_steps - 4);
}

InlinedCalls calls_of(MadeDwarf& made, std::uint64_t function) {
    InlinedCalls calls;
    auto file = made.file();
    EXPECT_TRUE(file) << file.error().message;
    std::uint64_t steps = many_steps;
    if (file) calls.scan(entry_at(*file, function), end_of_unit(*file), bounds, steps);
    return calls;
}

TEST(InlinedCallsTest, AreListedFromTheInnermost) {
    MadeDwarf made;
    const auto function = made.open(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x100));
    const auto outer = made.open(DW_TAG_inlined_subroutine, MadeDwarf::code(0x1010, 0x40));
    const auto inner = made.add(DW_TAG_inlined_subroutine, MadeDwarf::code(0x1020, 0x10));
    made.close();
    const auto sibling = made.add(DW_TAG_inlined_subroutine, MadeDwarf::code(0x1080, 0x10));
    made.close();
    const InlinedCalls calls = calls_of(made, function);
    EXPECT_THAT(calls.find(0x1000), IsEmpty());
    EXPECT_THAT(calls.find(0x1010), ElementsAre(outer));
    EXPECT_THAT(calls.find(0x1020), ElementsAre(inner, outer));
    EXPECT_THAT(calls.find(0x1030), ElementsAre(outer));
    EXPECT_THAT(calls.find(0x1050), IsEmpty());
    EXPECT_THAT(calls.find(0x1085), ElementsAre(sibling));
    EXPECT_GT(calls.memory_bytes(), 0U);
}

// Of calls with the same code, the deeper one is the innermost.
TEST(InlinedCallsTest, TheDeepestIsTheInnermost) {
    MadeDwarf made;
    const auto function = made.open(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x100));
    const auto outer = made.open(DW_TAG_inlined_subroutine, MadeDwarf::code(0x1010, 0x10));
    const auto inner = made.add(DW_TAG_inlined_subroutine, MadeDwarf::code(0x1010, 0x10));
    for (int i = 0; i < 2; ++i) made.close();
    EXPECT_THAT(calls_of(made, function).find(0x1010), ElementsAre(inner, outer));
}

TEST(InlinedCallsTest, MayBeInBlocksAndNotInOtherFunctions) {
    const auto found_in = [](unsigned tag) {
        MadeDwarf made;
        const auto function = made.open(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x100));
        made.open(tag, {});
        made.add(DW_TAG_inlined_subroutine, MadeDwarf::code(0x1010, 0x10));
        for (int i = 0; i < 2; ++i) made.close();
        return !calls_of(made, function).find(0x1010).empty();
    };
    for (const unsigned tag :
         {DW_TAG_lexical_block, DW_TAG_try_block, DW_TAG_catch_block, DW_TAG_with_stmt})
        EXPECT_TRUE(found_in(tag)) << tag;
    for (const unsigned tag : {DW_TAG_subprogram, DW_TAG_structure_type, DW_TAG_variable})
        EXPECT_FALSE(found_in(tag)) << tag;
}

// A call in a block is no child of the call before the block.
TEST(InlinedCallsTest, BlocksEndTheCallsBefore) {
    MadeDwarf made;
    const auto function = made.open(DW_TAG_subprogram, MadeDwarf::code(0x1000, 0x100));
    made.add(DW_TAG_inlined_subroutine, MadeDwarf::code(0x1010, 0x10));
    made.open(DW_TAG_lexical_block, {});
    const auto second = made.add(DW_TAG_inlined_subroutine, MadeDwarf::code(0x1020, 0x10));
    for (int i = 0; i < 2; ++i) made.close();
    EXPECT_THAT(calls_of(made, function).find(0x1020), ElementsAre(second));
}

}  // namespace
}  // namespace lagtrap::binaries::test::dwarf_scopes_test
