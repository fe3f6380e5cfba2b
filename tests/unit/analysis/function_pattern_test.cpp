#include "analysis/function_pattern.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::function_pattern_test {
namespace {

TEST(FunctionPatterns, MatchWholeNamesApartFromACompilersSuffix) {
    EXPECT_TRUE(matches_pattern("do_wait", "do_wait"));
    EXPECT_TRUE(matches_pattern("do_wait.isra.0", "do_wait"));
    EXPECT_FALSE(matches_pattern("do_wait_intr", "do_wait"));
    EXPECT_FALSE(matches_pattern("__do_wait", "do_wait"));
    EXPECT_FALSE(matches_pattern("", "do_wait"));
}

TEST(FunctionPatterns, WithAStarMatchBeginsAndEnds) {
    EXPECT_TRUE(matches_pattern("futex_wait", "futex_wait*"));
    EXPECT_TRUE(matches_pattern("futex_wait_queue.isra.0", "futex_wait*"));
    EXPECT_FALSE(matches_pattern("do_futex_wait", "futex_wait*"));
    EXPECT_TRUE(matches_pattern("ext4_page_mkwrite", "*_page_mkwrite"));
    EXPECT_TRUE(matches_pattern("ext4_page_mkwrite.constprop.0", "*_page_mkwrite"));
    EXPECT_FALSE(matches_pattern("ext4_page_mkwrite_more", "*_page_mkwrite"));
}

TEST(FunctionPatterns, OfAListMayEachMatch) {
    constexpr auto patterns = std::to_array<std::string_view>({"evict", "*_page_mkwrite"});
    EXPECT_TRUE(matches_one_of("evict", patterns));
    EXPECT_TRUE(matches_one_of("xfs_page_mkwrite", patterns));
    EXPECT_FALSE(matches_one_of("evicted", patterns));
}

}  // namespace
}  // namespace lagtrap::analysis::function_pattern_test
