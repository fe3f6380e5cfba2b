#include "calls/call_tree.hpp"

#include <gtest/gtest.h>

#include "calls/call_summary.hpp"

namespace lagtrap::calls::call_tree_test {
namespace {

Call call(std::uint32_t function, std::uint32_t parent, std::uint64_t begin_ns,
          std::uint64_t end_ns, std::uint64_t on_cpu_ns, std::uint64_t runnable_ns = 0) {
    return {.function = function,
            .parent = parent,
            .begin_ns = begin_ns,
            .end_ns = end_ns,
            .on_cpu_ns = on_cpu_ns,
            .runnable_ns = runnable_ns};
}

std::vector<Function> two_functions(ProbeCost cost) {
    std::vector<Function> functions(2);
    for (Function& function : functions) function.cost = cost;
    return functions;
}

TEST(CallTreeTest, PartsAddUpAndOwnTimeIsWhatCalleesDoNotHave) {
    Tree tree;
    tree.calls = {call(0, no_parent, 0, 10'000, 4'000, 1'000), call(1, 0, 1'000, 3'000, 2'000),
                  call(1, 0, 5'000, 9'000, 500, 500)};
    ASSERT_TRUE(check(tree, 2));
    const auto times = net_times(tree, two_functions({}));
    EXPECT_EQ(times[0].wall_ns, 10'000U);
    EXPECT_EQ(times[0].on_cpu_ns, 4'000U);
    EXPECT_EQ(times[0].runnable_ns, 1'000U);
    EXPECT_EQ(times[0].blocked_ns, 5'000U);
    EXPECT_EQ(times[0].own_ns, 4'000U);
    EXPECT_EQ(times[1].own_ns, 2'000U);
    EXPECT_EQ(times[2].blocked_ns, 3'000U);
}

TEST(CallTreeTest, CostOfProbesIsTakenOffWhereItFell) {
    Tree tree;
    tree.calls = {call(0, no_parent, 0, 10'000, 10'000), call(1, 0, 1'000, 3'000, 2'000),
                  call(1, 1, 1'500, 2'500, 1'000)};
    const auto times = net_times(tree, two_functions({.inside_ns = 100, .around_ns = 200}));
    EXPECT_EQ(times[2].wall_ns, 900U);
    EXPECT_EQ(times[1].wall_ns, 2'000U - 100 - 300);
    EXPECT_EQ(times[1].own_ns, 700U);
    EXPECT_EQ(times[0].wall_ns, 10'000U - 100 - 300 - 300);
}

TEST(CallTreeTest, ProbesTakeWhatTheyTookAtThatTime) {
    Tree tree;
    tree.calls = {call(0, no_parent, 0, 10'000, 10'000), call(1, 0, 1'000, 3'000, 2'000)};
    tree.calls[1].left_out_cost_ns = 400;
    tree.probe_scale = 1.5;
    const auto times = net_times(tree, two_functions({.inside_ns = 100, .around_ns = 200}));
    EXPECT_EQ(times[1].wall_ns, 2'000U - 150 - 600);
    EXPECT_EQ(times[0].wall_ns, 10'000U - 150 - 450 - 600);
}

TEST(CallTreeTest, CallsOfWhichNothingIsKnownHaveTheirCost) {
    Tree tree;
    tree.calls = {call(0, no_parent, 0, 10'000, 10'000)};
    tree.calls[0].left_out = 10;
    tree.calls[0].left_out_cost_ns = 2'500;
    const auto times = net_times(tree, two_functions({.inside_ns = 100, .around_ns = 200}));
    EXPECT_EQ(times[0].wall_ns, 10'000U - 100 - 2'500);
}

TEST(CallTreeTest, WhatIsLeftIsNeverLessThanTheCallees) {
    Tree tree;
    tree.calls = {call(0, no_parent, 0, 1'000, 1'000), call(1, 0, 0, 1'000, 1'000)};
    const auto times = net_times(tree, two_functions({.inside_ns = 300, .around_ns = 900}));
    EXPECT_EQ(times[1].wall_ns, 700U);
    EXPECT_EQ(times[0].wall_ns, 700U);
    EXPECT_EQ(times[0].own_ns, 0U);
    EXPECT_EQ(times[0].wall_ns, times[0].on_cpu_ns + times[0].runnable_ns + times[0].blocked_ns);
}

TEST(CallTreeTest, WhatMakesNoSenseIsRefused) {
    Tree tree;
    EXPECT_FALSE(check(tree, 2));
    tree.calls = {call(0, no_parent, 0, 1'000, 1'000), call(1, 0, 0, 500, 500)};
    ASSERT_TRUE(check(tree, 2));
    EXPECT_FALSE(check(tree, 1));
    const auto changed = [&](auto change) {
        Tree other = tree;
        change(other.calls);
        return check(other, 2).ok();
    };
    EXPECT_FALSE(changed([](auto& calls) { calls[1].parent = 1; }));
    EXPECT_FALSE(changed([](auto& calls) { calls[1].parent = no_parent; }));
    EXPECT_FALSE(changed([](auto& calls) { calls[0].parent = 0; }));
    EXPECT_FALSE(changed([](auto& calls) { calls[1].begin_ns = 501; }));
    EXPECT_FALSE(changed([](auto& calls) { calls[1].on_cpu_ns = 501; }));
    EXPECT_FALSE(changed([](auto& calls) { calls[1].runnable_ns = 1; }));
}

TEST(CallSummaryTest, CallsOnTheSamePathAreAddedUp) {
    Tree tree;
    tree.calls = {call(0, no_parent, 0, 10'000, 10'000), call(1, 0, 0, 1'000, 1'000),
                  call(1, 0, 2'000, 5'000, 3'000), call(1, 2, 2'000, 3'000, 1'000)};
    tree.calls[3].end = CallEnd::Left;
    const auto times = net_times(tree, two_functions({}));
    Summary summary;
    summary.add(tree, times);
    summary.add(tree, times);
    ASSERT_EQ(summary.calls().size(), 3U);
    const SummedCall& callee = summary.calls()[1];
    EXPECT_EQ(callee.parent, 0U);
    EXPECT_EQ(callee.count, 4U);
    EXPECT_EQ(callee.min_ns, 1'000U);
    EXPECT_EQ(callee.max_ns, 3'000U);
    EXPECT_EQ(callee.sum.wall_ns, 8'000U);
    EXPECT_EQ(callee.sum.own_ns, 6'000U);
    EXPECT_EQ(summary.calls()[2].parent, 1U);
    EXPECT_EQ(summary.calls()[2].not_returned, 2U);
}

TEST(CallSummaryTest, EachPartIsAddedToItsOwn) {
    Call root;
    root.left_out = 3;
    Call child;
    child.function = 1;
    child.parent = 0;
    child.left_out = 5;
    child.end = CallEnd::Left;
    Tree tree;
    tree.calls = {root, child};
    Summary summary;
    summary.add(tree, {{100, 10, 20, 70, 40}, {60, 1, 2, 57, 60}});
    tree.calls[1].end = CallEnd::TailCall;
    summary.add(tree, {{200, 30, 40, 130, 90}, {50, 4, 8, 38, 50}});
    tree.calls[1].end = CallEnd::ThreadEnd;
    summary.add(tree, {{150, 0, 0, 150, 100}, {50, 0, 0, 50, 50}});
    ASSERT_EQ(summary.calls().size(), 2U);
    const SummedCall& whole = summary.calls()[0];
    EXPECT_EQ(whole.count, 3U);
    EXPECT_EQ(whole.min_ns, 100U);
    EXPECT_EQ(whole.max_ns, 200U);
    EXPECT_EQ(whole.left_out, 9U);
    EXPECT_EQ(whole.not_returned, 0U);
    EXPECT_EQ(whole.sum.wall_ns, 450U);
    EXPECT_EQ(whole.sum.on_cpu_ns, 40U);
    EXPECT_EQ(whole.sum.runnable_ns, 60U);
    EXPECT_EQ(whole.sum.blocked_ns, 350U);
    EXPECT_EQ(whole.sum.own_ns, 230U);
    const SummedCall& part = summary.calls()[1];
    EXPECT_EQ(part.parent, 0U);
    EXPECT_EQ(part.left_out, 15U);
    EXPECT_EQ(part.not_returned, 2U) << "a tail call is a return";
    EXPECT_EQ(part.min_ns, 50U);
    EXPECT_EQ(part.sum.on_cpu_ns, 5U);
}

TEST(CallEnds, HaveNames) {
    const std::pair<CallEnd, const char*> names[] = {{CallEnd::Returned, "returned"},
                                                     {CallEnd::TailCall, "tail call"},
                                                     {CallEnd::Left, "left"},
                                                     {CallEnd::ThreadEnd, "thread ended"}};
    for (const auto& [end, name] : names) {
        EXPECT_STREQ(name_of(end), name);
        EXPECT_EQ(call_end_named(name), end);
    }
    EXPECT_EQ(call_end_named("lost"), std::nullopt);
}

TEST(CallTreeTest, SaysWhatMakesNoSense) {
    const auto problem = [](const std::vector<Call>& calls) {
        Tree tree;
        tree.calls = calls;
        const Status checked = check(tree, 2);
        return checked ? std::string() : checked.error().message;
    };
    const Call root = call(0, no_parent, 0, 10, 10);
    EXPECT_EQ(problem({}), "a tree of 0 calls; 1 to 65536 are allowed");
    std::vector<Call> many(max_nodes, call(1, 0, 0, 0, 0));
    many[0] = root;
    EXPECT_EQ(problem(many), "");
    many.push_back(many.back());
    EXPECT_EQ(problem(many), "a tree of 65537 calls; 1 to 65536 are allowed");
    EXPECT_EQ(problem({call(2, no_parent, 0, 10, 10)}),
              "call 0 of a tree has an unknown function number");
    EXPECT_EQ(problem({root, root}), "call 1 of a tree has no parent, or should have none");
    EXPECT_EQ(problem({call(0, 0, 0, 10, 10)}),
              "call 0 of a tree has no parent, or should have none");
    EXPECT_EQ(problem({root, call(1, 1, 0, 10, 10)}), "call 1 of a tree comes before its caller");
    EXPECT_EQ(problem({root, call(1, 0, 5, 4, 0)}), "call 1 of a tree ends before it begins");
    EXPECT_EQ(problem({root, call(1, 0, 5, 5, 0)}), "");
    EXPECT_EQ(problem({root, call(1, 0, 0, 10, 6, 4)}), "");
    EXPECT_EQ(problem({root, call(1, 0, 0, 10, 6, 5)}),
              "call 1 of a tree has parts that are longer than the whole");
    EXPECT_EQ(problem({root, call(1, 0, 0, 10, 11)}),
              "call 1 of a tree has parts that are longer than the whole");
}

}  // namespace
}  // namespace lagtrap::calls::call_tree_test
