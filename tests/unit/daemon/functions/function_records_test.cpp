#include "daemon/functions/function_records.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::function_records_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

lagtrap_traced_call record() {
    lagtrap_traced_call made{};
    made.function = 4;
    made.tid = 7;
    made.begin_ns = 1'000;
    made.end_ns = 1'100;
    made.probes_ns = 20;
    made.off_cpu_ns = 30;
    std::strcpy(made.comm, "work\n");
    return made;
}
std::optional<calls::TracedCall> taken(const lagtrap_traced_call& made) {
    return traced_call_of(&made, sizeof(made), 5);
}

TEST(FunctionRecords, ACallHasItsTimesAndThread) {
    const auto call = taken(record());
    ASSERT_TRUE(call);
    EXPECT_EQ(call->function, 4U);
    EXPECT_EQ(call->tid, 7U);
    EXPECT_EQ(call->begin_ns, 1'000U);
    EXPECT_EQ(call->end_ns, 1'100U);
    EXPECT_EQ(call->probes_ns, 20U);
    EXPECT_EQ(call->off_cpu_ns, 30U);
    EXPECT_FALSE(call->left);
    EXPECT_TRUE(call->thread.starts_with("work"));
    EXPECT_EQ(call->thread.find('\n'), std::string::npos);
}

TEST(FunctionRecords, ACallThatWasLeftSaysSo) {
    lagtrap_traced_call left = record();
    left.end = LAGTRAP_TRACED_LEFT;
    EXPECT_TRUE(taken(left)->left);
}

TEST(FunctionRecords, PartsOfACallAreNotLongerThanIt) {
    lagtrap_traced_call strange = record();
    strange.probes_ns = strange.off_cpu_ns = 101;
    EXPECT_EQ(taken(strange)->probes_ns, 100U);
    EXPECT_EQ(taken(strange)->off_cpu_ns, 100U);
    strange.end_ns = 999;
    EXPECT_EQ(taken(strange)->end_ns, 1'000U) << "it does not end before it begins";
    EXPECT_EQ(taken(strange)->probes_ns, 0U);
    std::memset(strange.comm, 'x', sizeof(strange.comm));
    EXPECT_EQ(taken(strange)->thread, std::string(16, 'x'));
}

TEST(FunctionRecords, OtherRecordsAreIgnored) {
    const lagtrap_traced_call made = record();
    EXPECT_FALSE(traced_call_of(&made, sizeof(made) - 1, 5));
    EXPECT_FALSE(traced_call_of(&made, sizeof(made), 4));
}

lagtrap_traced_function counted() {
    lagtrap_traced_function made{};
    made.calls = 10;
    made.left = 2;
    made.own_ns = 300;
    made.longest_ns = 90;
    made.unbegun = 1;
    made.path_length = 3;
    made.path[0] = 1;
    made.path[1] = 99;
    made.path[2] = 2;
    return made;
}

TEST(FunctionRecords, TotalsHaveThePathOfTheLongestCall) {
    const auto totals = totals_of(counted(), 3, 5);
    ASSERT_TRUE(totals);
    EXPECT_EQ(totals->function, 3U);
    EXPECT_EQ(totals->calls, 10U);
    EXPECT_EQ(totals->left, 2U);
    EXPECT_EQ(totals->own_ns, 300U);
    EXPECT_EQ(totals->longest_ns, 90U);
    EXPECT_EQ(totals->unbegun, 1U);
    EXPECT_THAT(totals->path, ElementsAre(1, 2)) << "there is no function 99";
}

TEST(FunctionRecords, APathIsNotLongerThanItsRoom) {
    lagtrap_traced_function long_path = counted();
    long_path.path_length = 1'000;
    EXPECT_EQ(totals_of(long_path, 3, 100)->path.size(), std::size_t{LAGTRAP_LONGEST_PATH});
}

TEST(FunctionRecords, OnlyFunctionsThatWereCalledHaveTotals) {
    lagtrap_traced_function made{};
    made.longest_ns = 1;
    EXPECT_FALSE(totals_of(made, 3, 5));
    made.unbegun = 1;
    EXPECT_TRUE(totals_of(made, 3, 5));
    made.unbegun = 0;
    made.calls = 1;
    EXPECT_TRUE(totals_of(made, 3, 5));
}

TEST(FreshTotals, AreThoseSinceTheLastTime) {
    FreshTotals totals(5);
    const auto first = totals.take({3, 10, 2, 300, 90, {1, 2}, 0});
    ASSERT_TRUE(first);
    EXPECT_EQ(first->calls, 10U);
    EXPECT_EQ(first->own_ns, 300U);
    const auto next = totals.take({3, 14, 3, 350, 40, {2}, 0});
    ASSERT_TRUE(next);
    EXPECT_EQ(next->function, 3U);
    EXPECT_EQ(next->calls, 4U);
    EXPECT_EQ(next->left, 1U);
    EXPECT_EQ(next->own_ns, 50U);
    EXPECT_EQ(next->longest_ns, 40U);
    EXPECT_THAT(next->path, ElementsAre(2));
    EXPECT_FALSE(totals.take({3, 14, 3, 350, 40, {2}, 0})) << "there was no call";
    EXPECT_TRUE(totals.take({4, 14, 3, 350, 40, {2}, 0})) << "of another function there was";
}

TEST(FreshTotals, CallsWithoutABeginHaveNoTimes) {
    FreshTotals totals(5);
    (void)totals.take({3, 0, 0, 0, 0, {}, 5});
    const auto next = totals.take({3, 0, 0, 70, 90, {1}, 8});
    ASSERT_TRUE(next);
    EXPECT_EQ(next->unbegun, 3U);
    EXPECT_EQ(next->own_ns, 0U);
    EXPECT_EQ(next->longest_ns, 0U);
    EXPECT_THAT(next->path, IsEmpty());
}

TEST(FreshTotals, OfUnknownFunctionsAreIgnored) {
    FreshTotals totals(5);
    EXPECT_FALSE(totals.take({5, 1, 0, 0, 0, {}, 0}));
    EXPECT_TRUE(totals.take({4, 1, 0, 0, 0, {}, 0}));
}

}  // namespace
}  // namespace lagtrap::daemon::function_records_test
