// Which rows a table has: gaps, overlapping functions, buckets and pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/unwind/unwind_table.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::unwind_table_rows_test {
namespace {

TEST(UnwindTableRows, LeavesGapsBetweenFunctionsAndWholeBucketsWithoutRows) {
    Frames frames;
    const auto cie = frames.usual_cie();
    // Out of order; the second and third with a gap of 6 bytes; one that spans three buckets.
    frames.function(cie, code_at + 0x2000, 0x900,
                    Bytes().u8(0x03).u16(0x500).u8(define_cfa_offset).uleb(16));
    frames.function(cie, code_at + 0x410, 10, "");
    frames.function(cie, code_at + 0x420, 10, "");
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    const auto own = rows_of(*table);
    EXPECT_EQ(own.problem, "");
    EXPECT_EQ(table->base_address, code_at + 0x400);
    EXPECT_EQ(table->bucket_count, 10U);
    const auto inside = at_rsp(8);
    const auto later = at_rsp(16);
    const lagtrap_unwind_rule gap{};
    std::vector<TableRow> expected{{code_at + 0x400, gap},
                                   {code_at + 0x410, inside},
                                   {code_at + 0x41a, gap},
                                   {code_at + 0x420, inside},
                                   {code_at + 0x42a, gap}};
    for (std::uint64_t address = code_at + 0x800; address < code_at + 0x2000; address += 1024)
        expected.push_back({address, gap});
    expected.insert(expected.end(), {{code_at + 0x2000, inside},
                                     {code_at + 0x2400, inside},
                                     {code_at + 0x2500, later},
                                     {code_at + 0x2800, later},
                                     {code_at + 0x2900, gap}});
    EXPECT_EQ(own.rows, expected);
}

TEST(UnwindTableRows, KeepsTheRowsOfABucketInOnePage) {
    Frames frames;
    const auto cie = frames.usual_cie();
    // Buckets of 700 rows each, so one per page.
    for (std::uint64_t number = 0; number < 10; ++number) {
        Bytes instructions;
        for (int row = 0; row < 700; ++row)
            instructions.u8(define_cfa_offset).uleb(row % 2 == 0 ? 16 : 24).u8(0x41);
        frames.function(cie, code_at + number * 1024, 1024, instructions);
    }
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(rows_of(*table).problem, "");
    EXPECT_EQ(table->row_count, 7000U);
    EXPECT_EQ(table->page_count - table->row_page, 10U);
    EXPECT_EQ(find_unwind_rule(*table, code_at + 9 * 1024 + 698).cfa_offset, 16);
    EXPECT_EQ(find_unwind_rule(*table, code_at + 9 * 1024 + 699).cfa_offset, 24);
}

TEST(UnwindTableRows, HoldsARowForEveryByteOfABucket) {
    Bytes instructions;
    for (int row = 0; row < 1024; ++row)
        instructions.u8(define_cfa_offset).uleb(8 * (row + 1)).u8(0x41);
    Frames frames;
    frames.function(frames.usual_cie(), code_at, 1024, instructions);
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(rows_of(*table).problem, "");
    EXPECT_EQ(table->row_count, 1024U);
    EXPECT_EQ(table->row_page - table->rule_page, 3U);  // 1025 rules
    for (int offset = 0; offset < 1024; ++offset)
        ASSERT_EQ(find_unwind_rule(*table, code_at + static_cast<unsigned>(offset)).cfa_offset,
                  8 * (offset + 1));
}

TEST(UnwindTableRows, OfFunctionsThatOverlapTheLastToBeginHolds) {
    Frames frames;
    const auto cie = frames.usual_cie();
    const auto with_offset = [](std::uint64_t offset) {
        return Bytes().u8(define_cfa_offset).uleb(offset).text();
    };
    frames.function(cie, code_at, 100,
                    Bytes().raw(with_offset(16)).u8(0x40 | 50).raw(with_offset(24)));
    frames.function(cie, code_at + 20, 40, with_offset(32));  // inside
    frames.function(cie, code_at + 30, 10, with_offset(40));  // inside that one
    frames.function(cie, code_at + 90, 40, with_offset(48));  // beyond the end of the first
    frames.function(cie, code_at + 90, 4, with_offset(56));   // the same begin, shorter
    frames.function(cie, code_at + 120, 0, with_offset(64));  // empty
    frames.function(cie, code_at + 200, 4, with_offset(72));  // the same begin, longer
    frames.function(cie, code_at + 200, 40, with_offset(80));
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    const auto own = rows_of(*table);
    EXPECT_EQ(own.problem, "");
    EXPECT_THAT(own.rows,
                ::testing::ElementsAre(
                    TableRow{code_at, at_rsp(16)}, TableRow{code_at + 20, at_rsp(32)},
                    TableRow{code_at + 30, at_rsp(40)}, TableRow{code_at + 40, at_rsp(32)},
                    TableRow{code_at + 60, at_rsp(24)}, TableRow{code_at + 90, at_rsp(56)},
                    TableRow{code_at + 94, at_rsp(48)}, TableRow{code_at + 130, {}},
                    TableRow{code_at + 200, at_rsp(72)}, TableRow{code_at + 204, at_rsp(80)},
                    TableRow{code_at + 240, {}}));
}

TEST(UnwindTableRows, TakesWhatLiesInCodeAlone) {
    Frames frames;
    const auto cie = frames.usual_cie();
    frames.function(cie, code_at - 16, 32, "");               // begins before the code
    frames.function(cie, code_at + code_bytes - 16, 64, "");  // extends beyond its end
    frames.function(cie, frames_address, 16, "");             // in data
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(rows_of(*table).problem, "");
    EXPECT_EQ(kind_of(find_unwind_rule(*table, code_at)), LAGTRAP_UNWIND_GAP);
    EXPECT_EQ(kind_of(find_unwind_rule(*table, frames_address)), LAGTRAP_UNWIND_GAP);
    EXPECT_EQ(kind_of(find_unwind_rule(*table, code_at + code_bytes - 1)), LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(kind_of(find_unwind_rule(*table, code_at + code_bytes)), LAGTRAP_UNWIND_GAP);
}

}  // namespace
}  // namespace lagtrap::binaries::test::unwind_table_rows_test
