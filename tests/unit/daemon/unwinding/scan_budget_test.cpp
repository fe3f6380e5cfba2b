#include "daemon/unwinding/scan_budget.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

TEST(ScanBudget, AllowsABurstAndThenAShareOfACpu) {
    ScanBudget budget;
    ScanBudget::Clock::time_point now{1h};
    ASSERT_TRUE(budget.may_scan(now));
    budget.charge(ScanBudget::burst - 1ms);
    EXPECT_TRUE(budget.may_scan(now)) << "the burst is not used up";
    budget.charge(101ms);
    EXPECT_FALSE(budget.may_scan(now));
    EXPECT_FALSE(budget.may_scan(now + ScanBudget::part_of_cpu * 100ms));
    EXPECT_TRUE(budget.may_scan(now + ScanBudget::part_of_cpu * 101ms));
}

TEST(ScanBudget, SpendsOnlyItsShareHoweverManyEventsAreLost) {
    ScanBudget budget;
    ScanBudget::Clock::time_point now{1h};
    const auto until = now + 10min;
    const ScanBudget::Clock::duration share =
        ScanBudget::Clock::duration(10min) / ScanBudget::part_of_cpu;
    ScanBudget::Clock::duration spent{0};
    for (; now < until; now += 20ms) {
        if (!budget.may_scan(now)) continue;
        budget.charge(300ms);
        spent += 300ms;
        now += 300ms;
    }
    EXPECT_LE(spent, ScanBudget::burst + 300ms + share);
    EXPECT_GE(spent, share - 1s);
}

}  // namespace
}  // namespace lagtrap::daemon
