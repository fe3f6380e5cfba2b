#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "calls/function_stream.hpp"

namespace lagtrap::calls::function_trees_test {
namespace {

TracedCall call(std::uint32_t function, std::uint32_t tid, std::uint64_t begin_ns,
                std::uint64_t end_ns, std::uint64_t probes_ns = 0, std::uint64_t off_cpu_ns = 0) {
    return {function, tid, begin_ns, end_ns, probes_ns, off_cpu_ns, false, "worker"};
}

TEST(FunctionTreesTest, CallsLieInThoseThatWereOpen) {
    // Calls arrive as they end, so inner ones come first.
    const auto trees = trees_of({call(2, 7, 20, 30), call(1, 7, 10, 50), call(3, 7, 60, 70),
                                 call(0, 7, 5, 100), call(4, 8, 25, 26), call(0, 7, 200, 210)});
    ASSERT_EQ(trees.size(), 3U);
    const Tree& first = trees[0];
    ASSERT_EQ(first.calls.size(), 4U);
    EXPECT_EQ(first.began_monotonic_ns, 5U);
    EXPECT_EQ(first.calls[1].function, 1U);
    EXPECT_EQ(first.calls[2].function, 2U);
    EXPECT_EQ(first.calls[2].parent, 1U);
    EXPECT_EQ(first.calls[3].parent, 0U) << "a later call of the first";
    EXPECT_EQ(trees[1].began_monotonic_ns, 200U);
    EXPECT_EQ(trees[2].tid, 8U);
    for (const Tree& tree : trees) EXPECT_TRUE(check(tree, 5).ok());
}

TEST(FunctionTreesTest, TimesAreWithoutProbesAndAddUp) {
    const auto trees = trees_of({call(1, 7, 100, 400, 50, 100), call(0, 7, 0, 1000, 200, 100)});
    const auto times = times_of(trees.front());
    EXPECT_EQ(times[0].wall_ns, 800U);
    EXPECT_EQ(times[1].wall_ns, 250U);
    EXPECT_EQ(times[0].own_ns, 550U);
    EXPECT_EQ(times[1].blocked_ns, 100U);
    for (const Times& time : times)
        EXPECT_EQ(time.wall_ns, time.on_cpu_ns + time.runnable_ns + time.blocked_ns);
}

TEST(FunctionTreesTest, WhatIsToldIsRead) {
    FunctionsEnded ended;
    ended.reason = "time limit reached";
    ended.totals = {{3, 10, 1, 500, 90, {2, 1}}};
    const auto message = parse_functions_message(boost::json::serialize(to_json(ended)));
    ASSERT_TRUE(message.ok() && message->ended);
    EXPECT_EQ(message->ended->totals.front().path, (std::vector<std::uint32_t>{2, 1}));
    const auto calls =
        parse_functions_message(boost::json::serialize(to_json({call(1, 2, 3, 9, 1, 2)})));
    ASSERT_TRUE(calls.ok() && calls->calls);
    EXPECT_EQ(calls->calls->front().end_ns, 9U);
    for (const char* wrong :
         {"", "[]", "{}", R"({"calls":[[1]]})", R"({"calls":[[1,2,9,3,0,0,0,"x"]]})",
          R"({"ended_functions":{}})", R"({"started_functions":5})"})
        EXPECT_FALSE(parse_functions_message(wrong).ok()) << wrong;
}

TEST(FunctionStreamTest, WhatRuntimesToldArrives) {
    FunctionsEnded ended;
    ended.reason = "time limit reached";
    ended.unnamed = 3;
    ended.runtimes.push_back({"Java", 12, {{"language library", 4}}, 700, "start it otherwise"});
    ended.totals.push_back({0, 2, 0, 30, 20, {1}, 0});
    ended.totals.push_back({1, 0, 0, 0, 0, {}, 9});
    const auto message = parse_functions_message(boost::json::serialize(to_json(ended)));
    ASSERT_TRUE(message) << message.error().message;
    ASSERT_TRUE(message->ended);
    EXPECT_EQ(message->ended->unnamed, 3U);
    ASSERT_EQ(message->ended->runtimes.size(), 1U);
    const RuntimeEnd& java = message->ended->runtimes.front();
    EXPECT_EQ(java.language, "Java");
    EXPECT_EQ(java.hits, 12U);
    EXPECT_EQ(java.left_out.front().count, 4U);
    EXPECT_EQ(java.watched_ns, 700U);
    EXPECT_EQ(java.advice, "start it otherwise");
    EXPECT_EQ(message->ended->totals[0].unbegun, 0U);
    EXPECT_EQ(message->ended->totals[1].unbegun, 9U);
    const auto more =
        parse_functions_message(R"({"more":[["Cart#add","Ruby",1,0,5,6,0,"/srv/cart.rb",4]]})");
    ASSERT_TRUE(more);
    ASSERT_TRUE(more->more);
    EXPECT_EQ(more->more->front().source, "/srv/cart.rb");
}

TEST(FunctionStreamTest, RecordingsFromBeforeRuntimesAreRead) {
    const auto message = parse_functions_message(
        R"({"ended_functions":{"reason":"r","length_ns":1,"sent":0,"not_sent":0,"too_deep":0,
           "bytes":0,"least_ns":0,)"
        R"("detach_ns":0,"totals":[[0,1,0,10,10,[]]]}})");
    ASSERT_TRUE(message) << message.error().message;
    EXPECT_TRUE(message->ended->runtimes.empty());
    EXPECT_EQ(message->ended->totals.front().unbegun, 0U);
}

TEST(FunctionTreesTest, CallsBeginAndEndWithinTheirTree) {
    // Off a CPU, and in probes, for longer than the call lasted: rounding.
    const auto trees = trees_of({call(0, 7, 1000, 1100, 7, 30), call(1, 7, 1020, 1060, 50, 99)});
    ASSERT_EQ(trees.size(), 1U);
    const Call& outer = trees[0].calls[0];
    const Call& inner = trees[0].calls[1];
    EXPECT_EQ(outer.begin_ns, 0U);
    EXPECT_EQ(outer.end_ns, 100U);
    EXPECT_EQ(outer.on_cpu_ns, 70U);
    EXPECT_EQ(outer.left_out_cost_ns, 7U);
    EXPECT_EQ(inner.begin_ns, 20U);
    EXPECT_EQ(inner.end_ns, 60U);
    EXPECT_EQ(inner.on_cpu_ns, 0U);
    EXPECT_EQ(inner.left_out_cost_ns, 40U);
}

TEST(FunctionTreesTest, ACallThatDidNotReturnIsKept) {
    TracedCall left = call(1, 7, 10, 20);
    left.left = true;
    const auto trees = trees_of({left, call(0, 7, 5, 30)});
    ASSERT_EQ(trees.size(), 1U);
    EXPECT_EQ(trees[0].tid, 7U);
    EXPECT_EQ(trees[0].thread, "worker");
    EXPECT_EQ(trees[0].calls[0].end, CallEnd::Returned);
    EXPECT_EQ(trees[0].calls[0].parent, no_parent);
    EXPECT_EQ(trees[0].calls[1].end, CallEnd::Left);
}

// Of calls that begin together, the longer one is the caller; a call that ends with it is within.
TEST(FunctionTreesTest, EqualTimesAreOfCallersAndTheirCalls) {
    const auto trees = trees_of({call(2, 7, 5, 10), call(1, 7, 5, 30), call(3, 7, 10, 30)});
    ASSERT_EQ(trees.size(), 1U);
    ASSERT_EQ(trees[0].calls.size(), 3U);
    EXPECT_EQ(trees[0].calls[0].function, 1U);
    EXPECT_EQ(trees[0].calls[1].function, 2U);
    EXPECT_EQ(trees[0].calls[1].parent, 0U);
    EXPECT_EQ(trees[0].calls[2].function, 3U);
    EXPECT_EQ(trees[0].calls[2].parent, 0U);
}

TEST(FunctionTreesTest, ACallerLastsAtLeastAsLongAsItsCalls) {
    // The caller's probes seem to have cost more than it took beside its calls.
    const auto times = times_of(
        trees_of({call(0, 7, 0, 100, 60), call(1, 7, 10, 40), call(2, 7, 50, 90)}).front());
    EXPECT_EQ(times[0].wall_ns, 70U);
    EXPECT_EQ(times[0].on_cpu_ns, 70U);
    EXPECT_EQ(times[0].own_ns, 0U);
    EXPECT_EQ(times[1].wall_ns, 30U);
    EXPECT_EQ(times[1].own_ns, 30U);
    const auto probes = times_of(trees_of({call(0, 7, 0, 100, 90, 40)}).front());
    EXPECT_EQ(probes[0].on_cpu_ns, 0U);
    EXPECT_EQ(probes[0].blocked_ns, 40U);
    EXPECT_EQ(probes[0].wall_ns, 40U);
}

}  // namespace
}  // namespace lagtrap::calls::function_trees_test
