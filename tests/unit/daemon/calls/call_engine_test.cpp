// Builds call trees from what the programs in the kernel wrote.
#include "daemon/calls/call_engine.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace lagtrap::daemon::call_engine_test {
namespace {

// All of its time is on a CPU. `end_ns` 0: no end of its own was recorded.
lagtrap_call_node node(std::uint32_t function, std::uint32_t parent, std::uint64_t begin_ns,
                       std::uint64_t end_ns, std::uint32_t end = LAGTRAP_CALL_RETURNED) {
    lagtrap_call_node made{};
    made.function = function;
    made.parent = parent;
    made.begin_ns = made.begin_on_cpu_ns = 1'000 + begin_ns;
    if (end_ns != 0) made.end_ns = made.end_on_cpu_ns = 1'000 + end_ns;
    made.end = end;
    return made;
}

calls::Tree made_of(const std::vector<lagtrap_call_node>& nodes, std::uint64_t end_ns) {
    lagtrap_call_tree header{};
    header.tid = 7;
    header.end_ns = 1'000 + end_ns;
    return tree_of(header, nodes.data(), nodes.size());
}

TEST(CallEngineTest, TimesCountFromTheOutermostCall) {
    const auto tree = made_of({node(0, LAGTRAP_CALL_NO_PARENT, 0, 100), node(1, 0, 10, 40)}, 100);
    ASSERT_TRUE(calls::check(tree, 2));
    EXPECT_EQ(tree.tid, 7U);
    EXPECT_EQ(tree.calls[1].begin_ns, 10U);
    EXPECT_EQ(tree.calls[1].end_ns, 40U);
    EXPECT_EQ(tree.calls[1].on_cpu_ns, 30U);
    EXPECT_EQ(tree.calls[1].end, calls::CallEnd::Returned);
}

TEST(CallEngineTest, WhatWasLeftEndsWhenSomethingElseBegins) {
    const auto tree =
        made_of({node(0, LAGTRAP_CALL_NO_PARENT, 0, 100), node(1, 0, 10, 0, LAGTRAP_CALL_OPEN),
                 node(2, 1, 20, 0, LAGTRAP_CALL_OPEN), node(3, 0, 60, 70)},
                100);
    ASSERT_TRUE(calls::check(tree, 4));
    EXPECT_EQ(tree.calls[1].end_ns, 60U);
    EXPECT_EQ(tree.calls[2].end_ns, 60U);
    EXPECT_EQ(tree.calls[2].end, calls::CallEnd::Left);
}

TEST(CallEngineTest, WhatWasLeftEndsWithItsCallerAtTheLatest) {
    const auto tree = made_of({node(0, LAGTRAP_CALL_NO_PARENT, 0, 100), node(1, 0, 10, 40),
                               node(2, 1, 20, 0, LAGTRAP_CALL_OPEN), node(3, 0, 60, 70)},
                              100);
    ASSERT_TRUE(calls::check(tree, 4));
    EXPECT_EQ(tree.calls[2].end_ns, 40U);
}

TEST(CallEngineTest, OutermostCallThatWasLeftEndsWithTheTree) {
    const auto tree = made_of(
        {node(0, LAGTRAP_CALL_NO_PARENT, 0, 0, LAGTRAP_CALL_THREAD_END), node(1, 0, 10, 30)}, 90);
    ASSERT_TRUE(calls::check(tree, 2));
    EXPECT_EQ(tree.calls[0].end_ns, 90U);
    EXPECT_EQ(tree.calls[0].end, calls::CallEnd::ThreadEnd);
}

TEST(CallEngineTest, NonsenseIsNoTree) {
    EXPECT_FALSE(calls::check(made_of({}, 10), 1));
    EXPECT_FALSE(
        calls::check(made_of({node(0, LAGTRAP_CALL_NO_PARENT, 0, 10), node(0, 5, 1, 2)}, 10), 1));
}

lagtrap_call_node waiting_node(std::uint32_t parent, std::uint64_t begin_ns, std::uint64_t end_ns,
                               std::uint64_t on_cpu_ns, std::uint64_t runnable_ns) {
    lagtrap_call_node made = node(0, parent, begin_ns, end_ns);
    made.begin_on_cpu_ns = 500;
    made.end_on_cpu_ns = 500 + on_cpu_ns;
    made.begin_runnable_ns = 70;
    made.end_runnable_ns = 70 + runnable_ns;
    return made;
}

TEST(CallEngineTest, TimeIsOnACpuRunnableOrBlocked) {
    struct Case {
        std::uint64_t on_cpu_ns, runnable_ns, expected_on_cpu_ns, expected_runnable_ns;
    };
    for (const Case& one : {Case{30, 20, 30, 20}, Case{100, 0, 100, 0}, Case{130, 20, 100, 0},
                            Case{30, 90, 30, 70}, Case{0, 100, 0, 100}}) {
        const auto tree = made_of(
            {waiting_node(LAGTRAP_CALL_NO_PARENT, 0, 100, one.on_cpu_ns, one.runnable_ns)}, 100);
        ASSERT_EQ(tree.calls.size(), 1U);
        EXPECT_EQ(tree.calls[0].on_cpu_ns, one.expected_on_cpu_ns);
        EXPECT_EQ(tree.calls[0].runnable_ns, one.expected_runnable_ns);
    }
}

TEST(CallEngineTest, AClockThatWentBackIsNoTime) {
    auto back = waiting_node(LAGTRAP_CALL_NO_PARENT, 0, 100, 0, 0);
    back.end_on_cpu_ns = back.end_runnable_ns = 0;
    const auto tree = made_of({back}, 100);
    EXPECT_EQ(tree.calls[0].on_cpu_ns, 0U);
    EXPECT_EQ(tree.calls[0].runnable_ns, 0U);
}

TEST(CallEngineTest, KeepsWhatBelongsToTheThreadAndToCallsThatWereLeftOut) {
    lagtrap_call_tree header{};
    header.tid = 7;
    header.goroutine = 34;
    std::memcpy(header.comm, "shop-worker-0123", sizeof header.comm);  // without a zero
    header.end_ns = 1'100;
    lagtrap_call_node root = node(3, LAGTRAP_CALL_NO_PARENT, 0, 100, LAGTRAP_CALL_TAIL);
    root.left_out = 5;
    root.left_out_cost_ns = 600;
    const auto tree = tree_of(header, &root, 1);
    EXPECT_EQ(tree.goroutine, 34U);
    EXPECT_EQ(tree.thread, "shop-worker-0123");
    ASSERT_EQ(tree.calls.size(), 1U);
    EXPECT_EQ(tree.calls[0].function, 3U);
    EXPECT_EQ(tree.calls[0].parent, calls::no_parent);
    EXPECT_EQ(tree.calls[0].left_out, 5U);
    EXPECT_EQ(tree.calls[0].left_out_cost_ns, 600U);
    EXPECT_EQ(tree.calls[0].end, calls::CallEnd::TailCall);
}

TEST(CallEngineTest, OutermostCallThatWasLeftHasTheLatestKnownCpuTime) {
    const auto tree = made_of({node(0, LAGTRAP_CALL_NO_PARENT, 0, 0, LAGTRAP_CALL_OPEN),
                               node(1, 0, 10, 60), node(2, 1, 20, 30)},
                              90);
    ASSERT_EQ(tree.calls.size(), 3U);
    EXPECT_EQ(tree.calls[0].end_ns, 90U);
    EXPECT_EQ(tree.calls[0].on_cpu_ns, 60U) << "the rest counts as blocked";
    EXPECT_EQ(tree.calls[0].runnable_ns, 0U);
    const auto open = made_of({node(0, LAGTRAP_CALL_NO_PARENT, 0, 0, LAGTRAP_CALL_OPEN),
                               node(1, 0, 40, 0, LAGTRAP_CALL_OPEN)},
                              30);
    EXPECT_EQ(open.calls[0].end_ns, 40U) << "not before its last call";
    EXPECT_EQ(open.calls[0].on_cpu_ns, 40U);
}

}  // namespace
}  // namespace lagtrap::daemon::call_engine_test
