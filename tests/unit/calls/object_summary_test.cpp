#include "calls/object_summary.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::calls::object_summary_test {
namespace {

ObjectCall call_of(std::uint32_t function, std::uint64_t begin_ns, std::uint64_t end_ns,
                   std::uint32_t depth) {
    ObjectCall call;
    call.function = function;
    call.tid = 7;
    call.begin_ns = begin_ns;
    call.end_ns = end_ns;
    call.depth = depth;
    return call;
}

// Each part as a line of its own, as the daemon writes it.
ObjectsSummary full_summary() {
    ObjectsSummary summary;
    ObjectsReply started;
    started.started.emplace();
    started.started->pid = 12;
    started.started->process = "shop";
    started.started->classes = {"Cart"};
    started.started->functions.resize(3);
    for (std::size_t at = 0; at < 3; ++at)
        started.started->functions[at].function.name = "f" + std::to_string(at);
    started.started->functions[1].role = ObjectRole::Create;
    EXPECT_TRUE(summary.add(std::move(started)).ok());
    ObjectsReply calls;
    ObjectCall failed = call_of(1, 20, 30, 1);
    failed.failed = true;
    failed.result = 14;
    calls.calls = {failed, call_of(0, 10, 90, 0), call_of(0, 100, 110, 0), call_of(2, 200, 250, 0)};
    EXPECT_TRUE(summary.add(std::move(calls)).ok());
    ObjectsReply out;
    out.taken_out = {{2, 5'000}};
    EXPECT_TRUE(summary.add(std::move(out)).ok());
    ObjectsReply ended;
    ended.ended.emplace();
    ended.ended->length_ns = 1'000;
    ended.ended->classes = {{5, 2, 3, 1, 0, 0, 0, 0, 0}};
    ended.ended->totals = {{0, 2, 0, 90}, {1, 1, 1, 10}, {2, 1, 0, 50}};
    ended.ended->oldest = {{0, 1, 7, 0x1000, 900, 3, 64, "a title", "main (shop)", 1, false}};
    ended.ended->stacks = {{1, false, {"main (shop)", "_start (shop)"}}};
    EXPECT_TRUE(summary.add(std::move(ended)).ok());
    return summary;
}

TEST(ObjectsSummaryTest, KeepsTheLongestCallOfEachFunction) {
    const ObjectsSummary summary = full_summary();
    ASSERT_EQ(summary.longest().size(), 2U);
    EXPECT_EQ(summary.longest()[0].call.end_ns, 90U);
    EXPECT_EQ(summary.longest()[0].below.size(), 1U);
    EXPECT_EQ(summary.longest()[1].call.function, 2U);
}

TEST(ObjectsSummaryTest, IsReadAgainFromItsLines) {
    const ObjectsSummary summary = full_summary();
    ObjectsSummary again;
    for (const std::string& line : summary.lines(100)) {
        auto reply = parse_objects_reply(line);
        ASSERT_TRUE(reply.ok()) << line;
        ASSERT_TRUE(again.add(std::move(*reply)).ok()) << line;
    }
    EXPECT_EQ(again.to_json(100), summary.to_json(100));
    ASSERT_EQ(again.failures().size(), 1U);
    EXPECT_EQ(again.failures()[0].count, 1U);
    EXPECT_EQ(again.failures()[0].error, "result 14");
}

TEST(ObjectsSummaryTest, ListsAreBounded) {
    const auto rows = full_summary().to_json(1);
    EXPECT_EQ(rows.at("functions").as_array().size(), 1U);
    EXPECT_EQ(rows.at("functions").as_array()[0].at("name").as_string(), "f0");
    EXPECT_EQ(rows.at("longest").as_array().size(), 3U);
    EXPECT_EQ(rows.at("taken_out").to_number<int>(), 1);
    const auto& stack = rows.at("oldest").as_array()[0].at("stack");
    EXPECT_EQ(stack.at("frames").as_array().size(), 2U);
}

TEST(ObjectsSummaryTest, WhatIsNotKnownIsRefused) {
    ObjectsSummary nothing;
    ObjectsReply early;
    early.calls = {call_of(0, 1, 2, 0)};
    EXPECT_FALSE(nothing.add(std::move(early)).ok());
    ObjectsSummary summary = full_summary();
    ObjectsReply wrong;
    wrong.calls = {call_of(3, 1, 2, 0)};
    EXPECT_FALSE(summary.add(std::move(wrong)).ok());
    ObjectsReply of_no_class;
    of_no_class.ended.emplace();
    of_no_class.ended->oldest.resize(1);
    of_no_class.ended->oldest[0].class_number = 1;
    EXPECT_FALSE(summary.add(std::move(of_no_class)).ok());
    ObjectsReply of_no_stack;
    of_no_stack.ended.emplace();
    of_no_stack.ended->oldest.resize(1);
    of_no_stack.ended->oldest[0].stack = 1;
    EXPECT_FALSE(summary.add(std::move(of_no_stack)).ok());
    ObjectsReply twice;
    twice.started.emplace();
    EXPECT_FALSE(summary.add(std::move(twice)).ok());
}

}  // namespace
}  // namespace lagtrap::calls::object_summary_test
