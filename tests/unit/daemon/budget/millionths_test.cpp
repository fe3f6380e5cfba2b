#include "daemon/budget/millionths.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::millionths_test {
namespace {

TEST(Millionths, OfATimeAreATime) {
    EXPECT_EQ(part_of(2'000'000'000, 10'000), 20'000'000U);
    EXPECT_EQ(ppm_of(20'000'000, 2'000'000'000), 10'000U);
    EXPECT_EQ(ppm_of(20, 0), 0U);
}

TEST(Millionths, AreWrittenShort) {
    EXPECT_EQ(percent_of_ppm(125'000), "13 %");
    EXPECT_EQ(percent_of_ppm(20'000), "2 %");
    EXPECT_EQ(percent_of_ppm(1'500), "0.1 %");
    EXPECT_EQ(percent_of_ppm(15'000), "1.5 %");
}

}  // namespace
}  // namespace lagtrap::daemon::millionths_test
