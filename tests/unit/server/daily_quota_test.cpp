#include "server/accounts/daily_quota.hpp"

#include <gtest/gtest.h>

#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::daily_quota_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t hour = 3600ULL * 1'000'000'000ULL;
constexpr std::uint64_t noon = (20'003ULL * 24 + 12) * hour;

class DailyQuotaTest : public StoreFixture {
  protected:
    std::uint64_t counted(std::uint64_t at) {
        return DailyQuota(store_->quotas(), 100).use(at).value().max_bytes;
    }
};

TEST_F(DailyQuotaTest, WhatIsKeptCountsUntilTheDayEnds) {
    DailyQuota quota(store_->quotas(), 100);
    auto share = quota.take("a", 60, noon).value();
    ASSERT_TRUE(share);
    share->keep();
    share.reset();
    EXPECT_EQ(counted(noon), 60U);
    EXPECT_FALSE(quota.take("a", 60, noon + 12 * hour - 1).value());
    EXPECT_TRUE(quota.take("a", 60, noon + 12 * hour).value()) << "the next day has begun";
}

TEST_F(DailyQuotaTest, WhatIsNotKeptIsGivenBackOnce) {
    DailyQuota quota(store_->quotas(), 100);
    {
        auto share = quota.take("a", 60, noon).value();
        ASSERT_TRUE(share);
        DailyQuota::Share moved = std::move(*share);
        share.reset();
        EXPECT_EQ(counted(noon), 60U) << "whoever it was moved to has it";
        DailyQuota::Share another = quota.take("a", 30, noon).value().value();
        another = std::move(moved);
        EXPECT_EQ(counted(noon), 60U) << "the one that was there is given back";
    }
    EXPECT_EQ(counted(noon), 0U);
}

TEST_F(DailyQuotaTest, IsGivenBackToTheDayThatItWasTakenOf) {
    DailyQuota quota(store_->quotas(), 100);
    quota.take("a", 40, noon + 24 * hour).value()->keep();
    { const auto share = quota.take("a", 60, noon).value(); }
    EXPECT_EQ(counted(noon), 0U);
    EXPECT_EQ(counted(noon + 24 * hour), 40U);
}

TEST_F(DailyQuotaTest, WithoutALimitNothingIsCounted) {
    DailyQuota quota(store_->quotas(), 0);
    auto share = quota.take("a", UINT64_MAX, noon).value();
    ASSERT_TRUE(share);
    share->keep();
    EXPECT_EQ(counted(noon), 0U);
    EXPECT_EQ(quota.use(noon).value().senders, 0U);
}

TEST(DailyQuota, TheNextDayBeginsAtMidnight) {
    EXPECT_EQ(DailyQuota::until_next_day(noon), 12h);
    EXPECT_EQ(DailyQuota::until_next_day(noon + 12 * hour), 24h);
    EXPECT_EQ(DailyQuota::until_next_day(noon + 12 * hour - 1), 1s) << "no earlier than that";
}

}  // namespace
}  // namespace lagtrap::server::daily_quota_test
