#include "daemon/processes/look_budget.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::look_budget_test {
namespace {

using namespace std::chrono_literals;

constexpr LookBudget::Clock::time_point start{1000h};

TEST(LookBudget, LetsShortLooksPass) {
    LookBudget budget;
    for (int look = 0; look < 100; ++look) {
        const auto now = start + look * 200ms;
        EXPECT_TRUE(budget.may_look(1, now)) << look;
        budget.charge(1, 2ms, now);
    }
    EXPECT_TRUE(budget.limited().empty());
}

// Over a long time no user gets more than its share, whatever it does.
TEST(LookBudget, HoldsAUserToItsShare) {
    LookBudget budget;
    auto used = 0ms;
    for (auto passed = 0ms; passed < 1h; passed += 10ms)
        if (budget.may_look(1, start + passed)) {
            used += 100ms;
            budget.charge(1, 100ms, start + passed);
        }
    EXPECT_LE(used, std::chrono::milliseconds(1h) / LookBudget::part_of_user +
                        LookBudget::burst_of_user + 100ms);
    EXPECT_GE(used, std::chrono::milliseconds(1h) / LookBudget::part_of_user);
    const auto limited = budget.limited();
    ASSERT_EQ(limited.size(), 1U);
    EXPECT_EQ(limited[0].user, 1U);
    EXPECT_EQ(limited[0].looks * 100ms, used);
    EXPECT_GT(limited[0].put_off, 300'000U);
}

TEST(LookBudget, LeavesOtherUsersAlone) {
    LookBudget budget;
    budget.charge(1, 900ms, start);
    EXPECT_FALSE(budget.may_look(1, start));
    EXPECT_TRUE(budget.may_look(2, start));
}

TEST(LookBudget, HoldsAllTogether) {
    LookBudget budget;
    for (uid_t user = 1; user <= 5; ++user) budget.charge(user, 200ms, start);
    EXPECT_FALSE(budget.may_look(6, start));
    EXPECT_TRUE(budget.may_look(6, start + 10ms));
}

TEST(LookBudget, RefusesFromTheBurstOn) {
    LookBudget budget;
    budget.charge(1, LookBudget::burst_of_user - 1ns, start);
    EXPECT_TRUE(budget.may_look(1, start));
    budget.charge(1, 1ns, start);
    EXPECT_FALSE(budget.may_look(1, start));
    EXPECT_TRUE(budget.may_look(1, start + 50ns)) << "a fiftieth of the time is there again";
    LookBudget of_all;
    for (std::uint32_t user = 1; user <= 10; ++user) of_all.charge(user, 100ms - 1ns, start);
    EXPECT_TRUE(of_all.may_look(11, start));
    of_all.charge(11, 10ns, start);
    EXPECT_FALSE(of_all.may_look(12, start));
    EXPECT_TRUE(of_all.may_look(12, start + 10ns));
}

TEST(LookBudget, CountsWhatIsPutOffElsewhere) {
    LookBudget budget;
    budget.charge(7, 1ms, start);
    budget.charge(8, 1ms, start);
    budget.note_put_off(8);
    budget.note_put_off(8);
    const auto limited = budget.limited();
    ASSERT_EQ(limited.size(), 1U);
    EXPECT_EQ(limited[0].user, 8U);
    EXPECT_EQ(limited[0].looks, 1U);
    EXPECT_EQ(limited[0].put_off, 2U);
}

TEST(LookBudget, ForgetsIdleUsersForNewOnesButNotWhoWasRefused) {
    LookBudget budget;
    budget.charge(1, 300ms, start);
    EXPECT_FALSE(budget.may_look(1, start));
    budget.charge(2, 240ms, start);
    for (std::uint32_t user = 10; user < 5'000; ++user) (void)budget.may_look(user, start);
    EXPECT_FALSE(budget.may_look(1, start));
    budget.charge(2, 20ms, start);
    EXPECT_FALSE(budget.may_look(2, start)) << "what was used is not forgotten";
}

}  // namespace
}  // namespace lagtrap::daemon::look_budget_test
