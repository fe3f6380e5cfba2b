#include "trace/names/naming_budget.hpp"

#include <gtest/gtest.h>

namespace lagtrap::trace::naming_budget_test {
namespace {

using namespace std::chrono_literals;

TEST(NamingBudget, BytesAreTakenUpToTheLimit) {
    NamingLimits limits;
    limits.read_bytes = 100;
    NamingBudget budget(limits);
    EXPECT_TRUE(budget.take_bytes(60));
    EXPECT_FALSE(budget.take_bytes(41));
    EXPECT_TRUE(budget.take_bytes(40));
    EXPECT_FALSE(budget.take_bytes(0));
}

TEST(NamingBudget, BytesThatWereReadCountBeyondTheLimit) {
    NamingLimits limits;
    limits.read_bytes = 100;
    NamingBudget budget(limits);
    budget.spend_bytes(250);
    EXPECT_FALSE(budget.take_bytes(0));
    EXPECT_FALSE(budget.take_bytes(1));
}

TEST(NamingBudget, TimeEndsByEitherClock) {
    NamingLimits limits;
    EXPECT_TRUE(NamingBudget(limits).time_left());
    limits.cpu_time = 0ms;
    EXPECT_FALSE(NamingBudget(limits).time_left());
    limits.cpu_time = 1h;
    limits.wall_time = 0ms;
    EXPECT_FALSE(NamingBudget(limits).time_left());
}

}  // namespace
}  // namespace lagtrap::trace::naming_budget_test
