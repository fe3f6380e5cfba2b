#include "daemon/calls/name_expressions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::name_expressions_test {
namespace {

TEST(NameExpressions, MatchAPartOrTheWholeName) {
    const auto expression = expression_of("Item|Gadget").value();
    EXPECT_TRUE(finds(expression, "shop::Item"));
    EXPECT_FALSE(is_whole(expression, "shop::Item"));
    EXPECT_TRUE(is_whole(expression, "Gadget"));
    EXPECT_FALSE(finds(expression, "Order"));
    EXPECT_FALSE(finds(expression, "item"));
}

TEST(NameExpressions, AnEmptyTextMatchesNothing) {
    const auto expression = expression_of("").value();
    EXPECT_FALSE(finds(expression, "Item"));
    EXPECT_FALSE(finds(expression, ""));
    EXPECT_FALSE(is_whole(expression, ""));
}

TEST(NameExpressions, MistakesAreNamed) {
    const auto wrong = expression_of("(Item");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(wrong.error().message,
                testing::StartsWith("\"(Item\" is not a valid regular expression: "));
}

TEST(NameExpressions, OnlyTheBeginningOfALongNameCounts) {
    const auto expression = expression_of("x").value();
    EXPECT_TRUE(finds(expression, std::string(max_name_bytes - 1, 'a') + "x"));
    EXPECT_FALSE(finds(expression, std::string(max_name_bytes, 'a') + "x"));
}

TEST(NameExpressions, OneThatIsTooExpensiveMatchesNothing) {
    const auto expression = expression_of("(a+)+(b+)+(a*)*c$").value();
    EXPECT_FALSE(finds(expression, std::string(4'000, 'a')));
    EXPECT_FALSE(is_whole(expression, std::string(4'000, 'a')));
}

TEST(NameExpressions, PatternsAreThoseOfFileNames) {
    EXPECT_TRUE(fits("handle_*", "handle_open"));
    EXPECT_TRUE(fits("handle_?", "handle_1"));
    EXPECT_FALSE(fits("handle_?", "handle_10"));
    EXPECT_FALSE(fits("handle", "handle_open"));
}

}  // namespace
}  // namespace lagtrap::daemon::name_expressions_test
