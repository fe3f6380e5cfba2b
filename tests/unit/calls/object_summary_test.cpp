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
    out.detached = {{2, 5'000}};
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
    EXPECT_EQ(rows.at("detached").to_number<int>(), 1);
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

TEST(ObjectsSummaryTest, IsReportedWhole) {
    ObjectsSummary summary;
    ObjectsReply started;
    started.started.emplace();
    started.started->pid = 12;
    started.started->process = "shop";
    started.started->memory = "no allocator";
    started.started->classes = {"Cart", "Item"};
    started.started->functions.resize(3);
    for (std::size_t at = 0; at < 3; ++at) {
        Function& function = started.started->functions[at].function;
        function.name = "f" + std::to_string(at);
        function.module = "m" + std::to_string(at);
    }
    started.started->functions[1].role = ObjectRole::Create;
    started.started->functions[2].role = ObjectRole::Release;
    EXPECT_TRUE(summary.add(std::move(started)).ok());
    ObjectsReply calls;
    ObjectCall failed = call_of(1, 20, 30, 1);
    failed.failed = true;
    failed.result = 14;
    failed.probes_ns = 4;
    failed.taken_bytes = 100;
    failed.given_bytes = 130;
    failed.object = 0x20;
    failed.title = "page";
    failed.state = ObjectState::Created;
    ObjectCall outer = call_of(0, 10, 90, 0);
    outer.result = 15;
    outer.state = ObjectState::Alive;
    calls.calls = {failed, outer};
    EXPECT_TRUE(summary.add(std::move(calls)).ok());
    ObjectsReply out;
    out.detached = {{2, 5'000}, {1, 6'000}};
    EXPECT_TRUE(summary.add(std::move(out)).ok());
    ObjectsReply ended;
    ended.ended.emplace();
    ended.ended->length_ns = 1'000;
    ended.ended->sent = 31;
    ended.ended->not_sent = 32;
    ended.ended->classes = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {11, 0, 0, 0, 0, 0, 0, 0, 0}};
    ended.ended->totals = {{0, 2, 0, 50}, {1, 1, 1, 90}, {2, 3, 2, 50}};
    ended.ended->oldest = {{1, 2, 7, 0x1000, 900, 3, -64, "a title", "main (shop)", 1, true},
                           {0, 2, 8, 0x2000, 800, 0, 65, "", "", 0, false}};
    ended.ended->stacks = {{1, true, {"main (shop)", "_start (shop)"}}};
    EXPECT_TRUE(summary.add(std::move(ended)).ok());
    EXPECT_EQ(
        boost::json::serialize(summary.to_json(10)),
        R"({"pid":12,"process":"shop","length_ns":1000,"memory":"no allocator","reported":31,)"
        R"("not_reported":32,"detached":2,"classes":[{"name":"Cart","created":1,"released":3,)"
        R"("alive":2,"failures":4,"released_twice":5,"used_after":6,"unknown":7,"replaced":8,)"
        R"("not_followed":9},{"name":"Item","created":11,"released":0,"alive":0,"failures":0,)"
        R"("released_twice":0,"used_after":0,"unknown":0,"replaced":0,"not_followed":0}],)"
        R"("failures":[{"function":"f1","module":"m1","count":1,"error":"result 14","object":32,)"
        R"("title":"page"}],"functions":[{"name":"f1","module":"m1","role":"create","calls":1,)"
        R"("failures":1,"elapsed_ns":90},{"name":"f0","module":"m0","role":"use","calls":2,)"
        R"("failures":0,"elapsed_ns":50},{"name":"f2","module":"m2","role":"release","calls":3,)"
        R"("failures":2,"elapsed_ns":50}],"longest":[{"name":"f0","module":"m0","role":"use",)"
        R"("depth":0,"tid":7,"begin_ns":0,"elapsed_ns":80,"bytes":0,"object":0,"title":"",)"
        R"("state":"alive","error":""},{"name":"f1","module":"m1","role":"create","depth":1,)"
        R"("tid":7,"begin_ns":10,"elapsed_ns":6,"bytes":-30,"object":32,"title":"page",)"
        R"("state":"created","error":"result 14"}],"oldest":[{"class":"Item","object":4096,)"
        R"_("title":"a title","age_ns":900,"uses":3,"bytes":-64,"caller":"main (shop)",)_"
        R"_("shares_stack":true,"stack":{"alive":1,"cut":true,"frames":["main (shop)",)_"
        R"_("_start (shop)"]}},{"class":"Cart","object":8192,"title":"","age_ns":800,"uses":0,)_"
        R"("bytes":65,"caller":"","shares_stack":false,"stack":null}]})");
}

TEST(ObjectsSummaryTest, LinesBeginWithTheFunctionsAndEndWithTheTotals) {
    std::string kinds;
    for (const std::string& line : full_summary().lines(2))
        kinds += line.substr(0, line.find(':')) + " ";
    EXPECT_EQ(kinds, "{\"ok\" {\"object_calls\" {\"failures\" {\"detached\" {\"ended_objects\" ");
    EXPECT_TRUE(ObjectsSummary().lines(2).empty());
    const auto calls = parse_objects_reply(full_summary().lines(2).at(1));
    ASSERT_TRUE(calls && calls->calls);
    EXPECT_EQ(calls->calls->size(), 2U);
    EXPECT_EQ(full_summary().lines(0).size(), 4U) << "no calls";
}

TEST(ObjectsSummaryTest, AWatchThatGoesOnHasTheCountsSoFar) {
    ObjectsSummary summary;
    ObjectsReply started;
    started.started.emplace();
    started.started->began_monotonic_ns = 100;
    started.started->classes = {"Cart", "Item"};
    started.started->functions.resize(2);
    EXPECT_TRUE(summary.add(std::move(started)).ok());
    ObjectsReply calls;
    ObjectCall failed = call_of(1, 120, 130, 1);
    failed.failed = true;
    failed.probes_ns = 3;
    calls.calls = {failed, call_of(1, 140, 145, 1)};
    EXPECT_TRUE(summary.add(std::move(calls)).ok());
    ObjectsReply counts;
    counts.counts.emplace();
    counts.counts->at_ns = 400;
    counts.counts->classes = {{5, 2, 3, 1, 0, 0, 0, 0, 0}};
    EXPECT_TRUE(summary.add(std::move(counts)).ok());
    EXPECT_FALSE(summary.ended());
    summary.end_here();
    ASSERT_TRUE(summary.ended());
    EXPECT_EQ(summary.ended()->length_ns, 300U);
    ASSERT_EQ(summary.ended()->classes.size(), 2U) << "also of classes without counts";
    EXPECT_EQ(summary.ended()->classes[0].created, 5U);
    EXPECT_EQ(summary.ended()->classes[0].alive, 2U);
    EXPECT_EQ(summary.ended()->sent, 2U);
    ASSERT_EQ(summary.ended()->totals.size(), 1U);
    EXPECT_EQ(summary.ended()->totals[0].function, 1U);
    EXPECT_EQ(summary.ended()->totals[0].calls, 2U);
    EXPECT_EQ(summary.ended()->totals[0].failures, 1U);
    EXPECT_EQ(summary.ended()->totals[0].elapsed_ns, 12U);
    EXPECT_EQ(summary.longest().size(), 1U) << "its caller has not ended";
    ObjectsSummary whole = full_summary();
    whole.end_here();
    EXPECT_EQ(whole.ended()->length_ns, 1'000U) << "the real end is kept";
}

TEST(ObjectsSummaryTest, TreesThatEndAreHandedOn) {
    ObjectsSummary summary;
    ObjectsReply started;
    started.started.emplace();
    started.started->functions.resize(5);
    EXPECT_TRUE(summary.add(std::move(started)).ok());
    std::vector<ObjectNode> ended;
    ObjectsReply calls;
    calls.calls = {call_of(0, 0, 10, 0), call_of(1, 20, 60, 0), call_of(2, 100, 120, 0),
                   call_of(3, 200, 230, 0), call_of(1, 300, 335, 0)};
    EXPECT_TRUE(summary.add(std::move(calls), &ended).ok());
    EXPECT_EQ(ended.size(), 5U);
    std::vector<std::uint32_t> kept;
    for (const ObjectNode& root : summary.longest()) kept.push_back(root.call.function);
    EXPECT_EQ(kept, (std::vector<std::uint32_t>{1, 3, 2})) << "the longest, each function once";
    EXPECT_EQ(summary.longest()[0].call.end_ns, 60U);
    ObjectsReply longer;
    longer.calls = {call_of(2, 500, 600, 0), call_of(4, 700, 705, 1)};
    EXPECT_TRUE(summary.add(std::move(longer)).ok());
    EXPECT_EQ(summary.longest()[0].call.function, 2U);
    EXPECT_EQ(summary.longest().size(), 3U);
    ObjectsReply end;
    end.ended.emplace();
    EXPECT_TRUE(summary.add(std::move(end), &ended).ok());
    EXPECT_EQ(ended.size(), 6U) << "and what had not ended";
}

TEST(ObjectsSummaryTest, LongNamesAreCutBetweenCharacters) {
    ObjectsSummary summary;
    ObjectsReply started;
    started.started.emplace();
    started.started->functions.resize(1);
    started.started->process = std::string(256, 'p');
    started.started->memory = std::string(255, 'm') + "\u00e9";
    EXPECT_TRUE(summary.add(std::move(started)).ok());
    const auto rows = summary.to_json(1);
    EXPECT_EQ(rows.at("process").as_string().size(), 256U);
    EXPECT_EQ(rows.at("memory").as_string(), std::string(255, 'm'));
}

TEST(ObjectsSummaryTest, RowsOfATreeCountFromAnOriginAndAreBounded) {
    const ObjectsSummary summary = full_summary();
    boost::json::array rows;
    add_rows_of_tree(summary.longest()[0], summary.started(), 4, 1, rows);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].at("begin_ns"), 6);
    rows.clear();
    add_rows_of_tree(summary.longest()[0], summary.started(), 15, 9, rows);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("begin_ns"), 0) << "began before";
    EXPECT_EQ(rows[1].at("begin_ns"), 5);
    EXPECT_EQ(rows[1].at("depth"), 1);
}

TEST(ObjectsSummaryTest, RefusesEachLineWithAnUnknownFunction) {
    const auto refuses = [](const auto& change) {
        ObjectsSummary summary;
        ObjectsReply started;
        started.started.emplace();
        started.started->classes = {"a"};
        started.started->functions.resize(1);
        EXPECT_TRUE(summary.add(std::move(started)).ok());
        ObjectsReply line;
        change(line);
        const Status added = summary.add(std::move(line));
        return !added.ok() && added.error().kind == ErrorKind::Invalid;
    };
    EXPECT_FALSE(refuses([](ObjectsReply& line) { line.detached = {{0, 1}}; }));
    EXPECT_TRUE(refuses([](ObjectsReply& line) { line.detached = {{0, 1}, {1, 1}}; }));
    EXPECT_TRUE(refuses([](ObjectsReply& line) { line.calls.emplace(1).front().function = 1; }));
    EXPECT_TRUE(refuses([](ObjectsReply& line) { line.messages.emplace(1).front().function = 1; }));
    EXPECT_TRUE(refuses([](ObjectsReply& line) { line.failures.emplace(1).front().function = 1; }));
    EXPECT_TRUE(refuses(
        [](ObjectsReply& line) { line.ended.emplace().oldest.emplace_back().function = 1; }));
    EXPECT_TRUE(refuses(
        [](ObjectsReply& line) { line.ended.emplace().oldest.emplace_back().class_number = 1; }));
    EXPECT_TRUE(
        refuses([](ObjectsReply& line) { line.ended.emplace().oldest.emplace_back().stack = 1; }));
}

TEST(ObjectsSummaryTest, EachListHasItsLimit) {
    ObjectsSummary summary;
    ObjectsReply started;
    started.started.emplace();
    started.started->classes = {"a", "b", "c"};
    started.started->functions.resize(3);
    EXPECT_TRUE(summary.add(std::move(started)).ok());
    ObjectsReply failures;
    failures.failures = {{0, 3, "x", "", 0, 0}, {1, 2, "y", "", 0, 0}, {2, 1, "z", "", 0, 0}};
    EXPECT_TRUE(summary.add(std::move(failures)).ok());
    ObjectsReply out;
    out.detached.emplace(4'100, DetachedFunction{0, 1});
    EXPECT_TRUE(summary.add(std::move(out)).ok());
    EXPECT_EQ(summary.detached().size(), 4'096U);
    ObjectsReply ended;
    ended.ended.emplace();
    ended.ended->classes.resize(3);
    ended.ended->totals = {{0, 1, 0, 5}, {1, 1, 0, 7}, {2, 1, 0, 6}};
    ended.ended->oldest.resize(3);
    EXPECT_TRUE(summary.add(std::move(ended)).ok());
    for (const std::size_t limit : {1U, 2U, 3U}) {
        const auto rows = summary.to_json(limit);
        for (const char* list : {"classes", "failures", "functions", "oldest"})
            EXPECT_EQ(rows.at(list).as_array().size(), limit) << list;
    }
    const auto functions = summary.to_json(3).at("functions").as_array();
    EXPECT_EQ(functions[0].at("elapsed_ns"), 7);
    EXPECT_EQ(functions[2].at("elapsed_ns"), 5);
    ObjectsReply unknown;
    unknown.ended.emplace();
    unknown.ended->totals = {{3, 1, 0, 5}};
    const Status refused = summary.add(std::move(unknown));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "a line has an unknown function number");
}

}  // namespace
}  // namespace lagtrap::calls::object_summary_test
