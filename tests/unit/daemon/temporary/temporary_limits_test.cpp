#include "daemon/temporary/temporary_limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::temporary_limits_test {
namespace {

using testing::HasSubstr;

TEST(TemporaryLimits, AUserHasTwo) {
    EXPECT_TRUE(room_for_temporary_event({}, 1000).ok());
    EXPECT_TRUE(room_for_temporary_event({1000}, 1000).ok());
    const auto third = room_for_temporary_event({1000, 1000}, 1000);
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().kind, ErrorKind::Busy);
    EXPECT_THAT(third.error().message, HasSubstr("user 1000 already has 2 temporary events"));
    EXPECT_TRUE(room_for_temporary_event({1000, 1000}, 1001).ok());
}

TEST(TemporaryLimits, RootHasAsManyAsThereAre) {
    EXPECT_TRUE(room_for_temporary_event({root_party, root_party, root_party}, root_party).ok());
    const auto fifth = room_for_temporary_event({root_party, root_party, 1000, 1001}, root_party);
    ASSERT_FALSE(fifth.ok());
    EXPECT_THAT(fifth.error().message, HasSubstr("4 temporary events already exist"));
    EXPECT_FALSE(room_for_temporary_event({1000, 1000, 1001, 1001}, 1002).ok());
}

TEST(TemporaryLimits, ACostIsHalfOfWhatIsLeft) {
    EXPECT_EQ(temporary_share_ppm(100'000, 0, 0), 50'000U);
    EXPECT_EQ(temporary_share_ppm(100'000, 20'000, 40'000), 20'000U);
}

TEST(TemporaryLimits, ACostIsAtLeastATenthOfTheLimit) {
    EXPECT_EQ(temporary_share_ppm(100'000, 100'000, 50'000), 10'000U);
    EXPECT_EQ(temporary_share_ppm(1000, 0, 500), 1000U) << "the least that settings allow";
}

}  // namespace
}  // namespace lagtrap::daemon::temporary_limits_test
