#include "daemon/processes/user_shares.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::user_shares_test {
namespace {

TEST(UserShares, AUserHasAQuarterAndRootAll) {
    UserShares shares(1000);
    EXPECT_TRUE(shares.take(7, 250));
    EXPECT_FALSE(shares.take(7, 1));
    EXPECT_TRUE(shares.take(8, 100));
    EXPECT_TRUE(shares.take(0, 650));
    EXPECT_FALSE(shares.take(8, 1));  // nobody has room left
    EXPECT_EQ(shares.used_bytes(), 1000U);
    EXPECT_EQ(shares.left_out(), (LeftOut{{7, 1}, {8, 1}}));
}

TEST(UserShares, WhatIsGivenBackIsThereAgain) {
    UserShares shares(1000);
    ASSERT_TRUE(shares.take(7, 250));
    shares.give_back(7, 100);
    EXPECT_TRUE(shares.take(7, 100));
    shares.give_back(7, 9999);
    shares.give_back(8, 1);
    EXPECT_EQ(shares.used_bytes(), 0U);
}

TEST(UserShares, ASmallerTotalKeepsWhatIsThere) {
    UserShares shares(1000);
    ASSERT_TRUE(shares.take(7, 250));
    shares.set_total(400);
    EXPECT_FALSE(shares.take(7, 1));
    EXPECT_TRUE(shares.take(8, 100));
    EXPECT_FALSE(shares.take(9, 100));
}

TEST(UserShares, CountsForSoManyUsersAtMost) {
    UserShares shares(0);
    for (std::uint32_t user = 0; user < 10'000; ++user) EXPECT_FALSE(shares.take(user, 1));
    EXPECT_EQ(shares.left_out().size(), UserShares::counted_users);
}

}  // namespace
}  // namespace lagtrap::daemon::user_shares_test
