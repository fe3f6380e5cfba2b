// Builds call trees from what the programs in the kernel wrote.
#include "daemon/calls/call_engine.hpp"

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

}  // namespace
}  // namespace lagtrap::daemon::call_engine_test
