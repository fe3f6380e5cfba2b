#include "daemon/processes/user_shares.hpp"

#include <algorithm>
#include <map>
#include <random>

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

TEST(UserShares, WhatCannotBeRefusedCountsLikeTheRest) {
    UserShares shares(1000);
    shares.take_anyway(7, 300);
    EXPECT_EQ(shares.used_bytes(), 300U);
    EXPECT_FALSE(shares.take(7, 1));
    shares.take_anyway(0, 650);
    EXPECT_FALSE(shares.take(8, 51)) << "not even a share is left";
    EXPECT_TRUE(shares.take(8, 50));
    EXPECT_FALSE(shares.take(0, 1));
    shares.count_left_out(9, 5);
    shares.count_left_out(9, 2);
    EXPECT_EQ(shares.left_out(), (LeftOut{{0, 1}, {7, 1}, {8, 1}, {9, 7}}));
}

TEST(UserShares, RefusalsOfKnownUsersAreCountedWhenThereAreTooMany) {
    UserShares shares(0);
    for (std::uint32_t user = 0; user < UserShares::counted_users; ++user)
        shares.count_left_out(user, 1);
    shares.count_left_out(UserShares::counted_users, 1);
    shares.count_left_out(UserShares::counted_users - 1, 3);
    EXPECT_FALSE(shares.left_out().contains(UserShares::counted_users));
    EXPECT_EQ(shares.left_out().at(UserShares::counted_users - 1), 4U);
}

// What users hold adds up, and nobody holds more than may be.
TEST(UserShares, AddUpWhateverComes) {
    UserShares shares(1000);
    std::map<std::uint32_t, std::uint64_t> held;
    std::mt19937 random(1);
    for (int step = 0; step < 20'000; ++step) {
        const std::uint32_t user = random() % 6;
        const std::uint64_t bytes = random() % 120;
        std::uint64_t all = 0;
        for (const auto& [one, its] : held) all += its;
        if (random() % 2 == 0) {
            const bool fits =
                held[user] + bytes <= (user == 0 ? 1000U : 250U) && all + bytes <= 1000;
            ASSERT_EQ(shares.take(user, bytes), fits) << step;
            if (fits) held[user] += bytes;
        } else {
            shares.give_back(user, bytes);
            held[user] -= std::min(held[user], bytes);
        }
        all = 0;
        for (const auto& [one, its] : held) all += its;
        ASSERT_EQ(shares.used_bytes(), all) << step;
    }
}

}  // namespace
}  // namespace lagtrap::daemon::user_shares_test
