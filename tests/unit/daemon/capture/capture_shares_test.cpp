#include "daemon/capture/capture_shares.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::capture_shares_test {
namespace {

using namespace std::chrono_literals;

SeenParties seen(std::initializer_list<Party> parties) {
    SeenParties all;
    for (const Party party : parties) all.add(party);
    return all;
}

const SeenParties users_7_and_9 = seen({7, 9});

class CaptureSharesTest : public ::testing::Test {
  protected:
    void SetUp() override { shares_.allow(5); }
    void begin(int count, std::optional<std::uint32_t> uid) {
        for (int i = 0; i < count; ++i) shares_.begin(uid, now_ += 1min);
    }

    CaptureShares shares_;
    CaptureShares::Clock::time_point now_{100h};
};

TEST_F(CaptureSharesTest, AUserHasHalfOfThemRoundedUp) {
    begin(2, 9);
    EXPECT_TRUE(shares_.used_up(users_7_and_9, now_).empty());
    begin(1, 9);
    const auto used_up = shares_.used_up(users_7_and_9, now_);
    ASSERT_EQ(used_up.size(), 1U);
    EXPECT_EQ(used_up.at(9), CaptureShares::Clock::time_point{101h + 1min})
        << "when the first of the three is an hour old";
    EXPECT_TRUE(shares_.used_up(users_7_and_9, used_up.at(9)).empty());
}

TEST_F(CaptureSharesTest, WhoIsAloneHasAll) {
    begin(4, 9);
    EXPECT_TRUE(shares_.used_up(seen({9}), now_).empty());
    EXPECT_FALSE(shares_.full_until(now_));
    begin(1, 9);
    EXPECT_EQ(shares_.full_until(now_), CaptureShares::Clock::time_point{101h + 1min});
}

TEST_F(CaptureSharesTest, WhatWasBegunByHandIsNobodysShare) {
    begin(4, std::nullopt);
    begin(1, 9);
    EXPECT_TRUE(shares_.used_up(users_7_and_9, now_).empty());
    EXPECT_TRUE(shares_.full_until(now_));
}

TEST_F(CaptureSharesTest, ALowerLimitCountsWhatWasBegunBefore) {
    begin(5, 9);
    shares_.allow(2);
    EXPECT_EQ(shares_.full_until(now_), CaptureShares::Clock::time_point{101h + 4min}) << "then one of two is left";
    EXPECT_EQ(shares_.used_up(users_7_and_9, now_).at(9), CaptureShares::Clock::time_point{101h + 5min});
}

TEST_F(CaptureSharesTest, NobodyStandsInForAnotherBy64) {
    begin(3, 9 + 64);
    EXPECT_TRUE(shares_.used_up(seen({9 + 64}), now_).empty());
    EXPECT_EQ(shares_.used_up(seen({9, 9 + 64}), now_).count(9 + 64), 1U) << "user 9 is another one";
}

}  // namespace
}  // namespace lagtrap::daemon::capture_shares_test
