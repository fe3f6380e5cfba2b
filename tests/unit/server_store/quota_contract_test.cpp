#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/server_store/store_backend.hpp"

namespace lagtrap::server::quota_contract_test {
namespace {

constexpr std::uint64_t today = monday / day;

// With a second server of the same database, if the backend allows several.
class QuotaContract : public StoreTest {
  protected:
    void SetUp() override {
        StoreTest::SetUp();
        if (backend_->takes_several_servers()) another_ = must(backend_->open());
        other_ = another_ ? another_.get() : store_.get();
    }
    std::uint64_t most(std::uint64_t on_day) {
        return must(store_->quotas().quota_use(on_day)).max_bytes;
    }

    std::unique_ptr<Store> another_;
    Store* other_ = nullptr;
};

TEST_F(QuotaContract, CountsOverAllServersOfTheStore) {
    EXPECT_TRUE(must(store_->quotas().take_quota("a", today, 60, 100)));
    EXPECT_FALSE(must(other_->quotas().take_quota("a", today, 60, 100)))
        << "taken by the other server";
    EXPECT_EQ(most(today), 60U) << "what was refused is not counted";
    EXPECT_TRUE(must(other_->quotas().take_quota("a", today, 40, 100)));
    EXPECT_FALSE(must(store_->quotas().take_quota("a", today, 1, 100)));
    EXPECT_TRUE(must(store_->quotas().take_quota("a", today, 1, 101)))
        << "a larger limit holds at once";
    EXPECT_FALSE(must(store_->quotas().take_quota("a", today, 1, 50))) << "so does a smaller one";
}

TEST_F(QuotaContract, EachSenderAndEachDayHasItsOwn) {
    EXPECT_TRUE(must(store_->quotas().take_quota("a", today, 100, 100)));
    EXPECT_TRUE(must(store_->quotas().take_quota("b", today, 30, 100)));
    EXPECT_TRUE(must(store_->quotas().take_quota("a", today + 1, 70, 100)));
    const QuotaUse use = must(other_->quotas().quota_use(today));
    EXPECT_EQ(use.senders, 2U);
    EXPECT_EQ(use.max_bytes, 100U);
    EXPECT_EQ(most(today + 1), 70U);
    EXPECT_EQ(must(store_->quotas().quota_use(today + 2)).senders, 0U);
}

TEST_F(QuotaContract, TakesNoMoreThanADayHas) {
    EXPECT_FALSE(must(store_->quotas().take_quota("a", today, 101, 100)));
    EXPECT_EQ(must(store_->quotas().quota_use(today)).senders, 0U);
    EXPECT_FALSE(must(store_->quotas().take_quota("a", today, UINT64_MAX, UINT64_MAX)));
    EXPECT_TRUE(must(store_->quotas().take_quota("a", today, INT64_MAX, UINT64_MAX)));
    EXPECT_FALSE(must(store_->quotas().take_quota("a", today, 1, UINT64_MAX)))
        << "the sum is no larger than a column holds";
    EXPECT_EQ(most(today), static_cast<std::uint64_t>(INT64_MAX));
}

TEST_F(QuotaContract, TakesBackWhatDidNotCome) {
    EXPECT_TRUE(must(store_->quotas().take_quota("a", today, 60, 100)));
    EXPECT_TRUE(must(other_->quotas().take_quota("a", today, 40, 100)));
    EXPECT_TRUE(other_->quotas().give_back_quota("a", today, 40).ok());
    EXPECT_EQ(most(today), 60U);
    EXPECT_TRUE(store_->quotas().give_back_quota("a", today, 61).ok());
    EXPECT_EQ(most(today), 60U) << "not what was never counted";
    EXPECT_TRUE(store_->quotas().give_back_quota("nobody", today, 1).ok());
    EXPECT_TRUE(store_->quotas().give_back_quota("a", today + 1, 60).ok());
    EXPECT_EQ(most(today), 60U) << "the day's on which it was taken";
    EXPECT_TRUE(store_->quotas().give_back_quota("a", today, 60).ok());
    EXPECT_EQ(must(store_->quotas().quota_use(today)).senders, 0U);
}

TEST_F(QuotaContract, AtTheSameTimeAsManyAsThereIsRoomFor) {
    std::atomic<int> taken{0};
    {
        std::vector<std::jthread> threads;
        for (Store* store : {store_.get(), other_, store_.get(), other_})
            threads.emplace_back([&taken, store] {
                for (int i = 0; i < 25; ++i)
                    if (must(store->quotas().take_quota("a", today, 1, 70))) ++taken;
            });
    }
    EXPECT_EQ(taken, 70);
    EXPECT_EQ(most(today), 70U);
}

TEST_F(QuotaContract, DaysBeforeYesterdayAreForgotten) {
    for (const std::uint64_t on_day : {today, today + 1, today + 2})
        EXPECT_TRUE(must(store_->quotas().take_quota("a", on_day, 5, 100)));
    ASSERT_TRUE(store_->upkeep().maintain(monday + 2 * day).ok());
    EXPECT_EQ(most(today), 0U);
    EXPECT_EQ(most(today + 1), 5U) << "the clock of another server may be behind";
    EXPECT_EQ(most(today + 2), 5U);
}

}  // namespace
}  // namespace lagtrap::server::quota_contract_test
