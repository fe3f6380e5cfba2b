#include "daemon/functions/name_pattern.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::name_pattern_test {
namespace {

TEST(NamePattern, MatchesAnywhereInTheName) {
    EXPECT_TRUE(matches(boost::regex("page"), "load_page_of"));
    EXPECT_FALSE(matches(boost::regex("^page"), "load_page_of"));
    EXPECT_FALSE(matches(boost::regex("Page"), "load_page_of"));
}

TEST(NamePattern, AnEmptyOneMatchesNothing) { EXPECT_FALSE(matches(boost::regex(), "page")); }

TEST(NamePattern, LongNamesAreCut) {
    std::string name(max_pattern_name_bytes, 'x');
    EXPECT_FALSE(matches(boost::regex("page"), name + "page"));
    name.replace(name.size() - 4, 4, "page");
    EXPECT_TRUE(matches(boost::regex("page$"), name + "more"));
}

TEST(NamePattern, OneThatIsTooExpensiveDoesNotMatch) {
    EXPECT_FALSE(matches(boost::regex("(a+)+(b+)+(a*)*c$"), std::string(4'000, 'a')));
}

}  // namespace
}  // namespace lagtrap::daemon::name_pattern_test
