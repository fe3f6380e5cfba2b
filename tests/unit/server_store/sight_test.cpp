#include "server/store/sight.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::sight_test {
namespace {

TEST(Sight, StarsMatchAnyTextIncludingNone) {
    EXPECT_TRUE(fits_pattern("checkout", "checkout"));
    EXPECT_FALSE(fits_pattern("checkout", "checkout.pay"));
    EXPECT_FALSE(fits_pattern("checkout.pay", "checkout"));
    EXPECT_TRUE(fits_pattern("checkout.*", "checkout.pay"));
    EXPECT_TRUE(fits_pattern("checkout.*", "checkout."));
    EXPECT_FALSE(fits_pattern("checkout.*", "checkout"));
    EXPECT_TRUE(fits_pattern("*.pay", "a.pay.pay"));
    EXPECT_FALSE(fits_pattern("*.pay", "a.pay.b"));
    EXPECT_TRUE(fits_pattern("a*b*c", "a-b-b-c"));
    EXPECT_TRUE(fits_pattern("**", ""));
    EXPECT_TRUE(fits_pattern("", ""));
    EXPECT_FALSE(fits_pattern("", "a"));
    EXPECT_FALSE(fits_pattern("a?", "ab"));
}

TEST(Sight, ATeamSeesItsEventsAndWhatRanInItsUnits) {
    const Sight team{{"checkout.*"}, {"web.service", "container web*"}};
    EXPECT_TRUE(team.sees("checkout.pay", ""));
    EXPECT_TRUE(team.sees("query", "web.service"));
    EXPECT_TRUE(team.sees("query", "container web-7"));
    EXPECT_FALSE(team.sees("query", "db.service"));
    EXPECT_FALSE(team.sees("query", ""));
    EXPECT_FALSE(Sight({{}, {"*"}}).sees("query", ""));
    EXPECT_FALSE(Sight{}.sees("query", "web.service"));
}

TEST(Sight, WithoutOneEverythingIsVisible) {
    EXPECT_TRUE(Visibility::everything().sees("query", ""));
    EXPECT_TRUE(Visibility(nullptr).sees_everything());
    const Visibility none(std::make_shared<const Sight>());
    EXPECT_FALSE(none.sees_everything());
    EXPECT_FALSE(none.sees("query", "web.service"));
}

}  // namespace
}  // namespace lagtrap::server::sight_test
