#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "calls/function_stream.hpp"

namespace lagtrap::calls {
namespace {

TracedCall call(std::uint32_t function, std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t end_ns,
                std::uint64_t probes_ns = 0, std::uint64_t off_cpu_ns = 0) {
    return {function, tid, begin_ns, end_ns, probes_ns, off_cpu_ns, false, "worker"};
}

TEST(FunctionTreesTest, CallsLieInThoseThatWereOpen) {
    // They come as they end: inner ones first.
    const auto trees = trees_of({call(2, 7, 20, 30), call(1, 7, 10, 50), call(3, 7, 60, 70), call(0, 7, 5, 100),
                                 call(4, 8, 25, 26), call(0, 7, 200, 210)});
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
    for (const Times& time : times) EXPECT_EQ(time.wall_ns, time.on_cpu_ns + time.runnable_ns + time.blocked_ns);
}

TEST(FunctionTreesTest, WhatIsToldIsRead) {
    FunctionsEnded ended;
    ended.reason = "the time is over";
    ended.totals = {{3, 10, 1, 500, 90, {2, 1}}};
    const auto message = parse_functions_message(boost::json::serialize(to_json(ended)));
    ASSERT_TRUE(message.ok() && message->ended);
    EXPECT_EQ(message->ended->totals.front().path, (std::vector<std::uint32_t>{2, 1}));
    const auto calls = parse_functions_message(boost::json::serialize(to_json({call(1, 2, 3, 9, 1, 2)})));
    ASSERT_TRUE(calls.ok() && calls->calls);
    EXPECT_EQ(calls->calls->front().end_ns, 9U);
    for (const char* wrong : {"", "[]", "{}", R"({"calls":[[1]]})", R"({"calls":[[1,2,9,3,0,0,0,"x"]]})",
                              R"({"ended_functions":{}})", R"({"started_functions":5})"})
        EXPECT_FALSE(parse_functions_message(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace lagtrap::calls
