#include "calls/call_summary.hpp"

#include <gtest/gtest.h>

namespace lagtrap::calls::call_summary_test {
namespace {

Call call_of(std::uint32_t function, std::uint32_t parent, CallEnd end = CallEnd::Returned,
             std::uint32_t left_out = 0) {
    Call call;
    call.function = function;
    call.parent = parent;
    call.end = end;
    call.left_out = left_out;
    return call;
}

Times times_of_call(std::uint64_t wall_ns) {
    Times times{};
    times.wall_ns = wall_ns;
    times.on_cpu_ns = wall_ns + 1;
    times.runnable_ns = wall_ns + 2;
    times.blocked_ns = wall_ns + 3;
    times.own_ns = wall_ns + 4;
    return times;
}

TEST(CallSummary, SumsCallsOfOneFunctionBelowOneCaller) {
    Tree tree;
    tree.calls = {call_of(7, no_parent), call_of(8, 0, CallEnd::Left, 2),
                  call_of(8, 0, CallEnd::ThreadEnd, 3), call_of(8, 1)};
    Summary summary;
    summary.add(tree, {times_of_call(100), times_of_call(30), times_of_call(10), times_of_call(5)});
    const auto& calls = summary.calls();
    ASSERT_EQ(calls.size(), 3U);
    EXPECT_EQ(calls[0].function, 7U);
    EXPECT_EQ(calls[0].parent, no_parent);
    EXPECT_EQ(calls[0].count, 1U);
    EXPECT_EQ(calls[0].not_returned, 0U);
    EXPECT_EQ(calls[1].function, 8U);
    EXPECT_EQ(calls[1].parent, 0U);
    EXPECT_EQ(calls[1].count, 2U);
    EXPECT_EQ(calls[1].min_ns, 10U);
    EXPECT_EQ(calls[1].max_ns, 30U);
    EXPECT_EQ(calls[1].left_out, 5U);
    EXPECT_EQ(calls[1].not_returned, 2U);
    EXPECT_EQ(calls[1].sum.wall_ns, 40U);
    EXPECT_EQ(calls[1].sum.on_cpu_ns, 42U);
    EXPECT_EQ(calls[1].sum.runnable_ns, 44U);
    EXPECT_EQ(calls[1].sum.blocked_ns, 46U);
    EXPECT_EQ(calls[1].sum.own_ns, 48U);
    EXPECT_EQ(calls[2].parent, 1U) << "the same function below another call";
}

TEST(CallSummary, TreesAreAddedToEachOther) {
    Tree tree;
    tree.calls = {call_of(7, no_parent), call_of(8, 0)};
    Summary summary;
    summary.add(tree, {times_of_call(100), times_of_call(30)});
    summary.add(tree, {times_of_call(50), times_of_call(40)});
    ASSERT_EQ(summary.calls().size(), 2U);
    EXPECT_EQ(summary.calls()[0].count, 2U);
    EXPECT_EQ(summary.calls()[0].min_ns, 50U);
    EXPECT_EQ(summary.calls()[0].max_ns, 100U);
    EXPECT_EQ(summary.calls()[1].sum.wall_ns, 70U);
    EXPECT_EQ(summary.calls()[1].parent, 0U);
}

}  // namespace
}  // namespace lagtrap::calls::call_summary_test
