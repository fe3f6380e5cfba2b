// A capture's trace of calls (calls.jsonl) becomes slices by thread.
#include <fstream>

#include "calls/call_stream.hpp"
#include "tests/unit/trace/merge_fixture.hpp"
#include "trace/logs/lines_file.hpp"
#include "trace/merge/recorded_calls.hpp"
#include "trace/perfetto/call_slices.hpp"

namespace lagtrap::trace::merge_calls_test {
namespace {

calls::Function function(const std::string& name, std::uint64_t probes_ns = 0) {
    calls::Function made;
    made.name = name;
    made.module = "/usr/bin/" + name;
    made.cost.inside_ns = probes_ns;
    return made;
}

calls::Call call(std::uint32_t number, std::uint32_t caller, double begin_ms, double end_ms) {
    calls::Call made;
    made.function = number;
    made.parent = caller;
    made.begin_ns = at_ms(begin_ms) - at_ms(0);
    made.end_ns = at_ms(end_ms) - at_ms(0);
    made.on_cpu_ns = made.end_ns - made.begin_ns;
    return made;
}

calls::Tree tree(std::uint32_t tid, double begin_ms, std::vector<calls::Call> all) {
    calls::Tree made;
    made.tid = tid;
    made.thread = "worker";
    made.began_monotonic_ns = at_ms(begin_ms);
    made.calls = std::move(all);
    return made;
}

class MergeCalls : public Merge {
  protected:
    void SetUp() override {
        Merge::SetUp();
        write_busy_capture(capture_.path());
        calls::Started started;
        started.pid = 500;
        started.process = "server";
        started.functions = {function("outer"), function("inner", 500'000)};
        say(calls::to_json(started));
    }
    void say(const json::object& line) { write(json::serialize(line) + "\n"); }
    void write(const std::string& text) {
        std::ofstream(capture_.path() / calls_lines.name, std::ios::app | std::ios::binary) << text;
    }
    json::array merged_calls() {
        EXPECT_TRUE(merge().ok());
        const json::object found = decoded(trace());
        return found.empty() ? json::array() : found.at("calls").as_array();
    }
};

TEST_F(MergeCalls, EachCallIsASliceOfItsThread) {
    // Two threads at once; the second is written first because it ended first.
    say(calls::to_json(tree(502, 60, {call(0, calls::no_parent, 0, 10), call(1, 0, 2, 4)})));
    say(calls::to_json(tree(
        501, 50,
        {call(0, calls::no_parent, 0, 30), call(1, 0, 1, 6), call(1, 1, 2, 3), call(1, 0, 6, 9)})));
    const json::array found = merged_calls();
    ASSERT_EQ(found.size(), 6U);
    std::string order;
    for (const json::value& one : found)
        order += text(one.at("name")) + std::to_string(one.at("depth").as_int64()) + " ";
    EXPECT_EQ(order, "outer0 inner1 inner2 inner1 outer0 inner1 ");
    EXPECT_EQ(found[0].at("begin_tid").as_int64(), 501);
    EXPECT_EQ(found[4].at("begin_tid").as_int64(), 502);
    EXPECT_EQ(found[1].at("length_ns").as_int64(), 5'000'000);
    EXPECT_EQ(found[1].at("wall_ns").as_int64(), 4'000'000) << "without the probes of both calls";
    EXPECT_EQ(found[1].at("own_ns").as_int64(), 3'500'000);
    EXPECT_EQ(text(found[1].at("module")), "/usr/bin/inner");
}

TEST_F(MergeCalls, WhatIsCutOffOrMakesNoSenseIsLeftOut) {
    say(calls::to_json(tree(501, 50, {call(0, calls::no_parent, 0, 30)})));
    say(calls::to_json(tree(501, 90, {call(7, calls::no_parent, 0, 30)})));  // of no function
    say(calls::to_json(std::vector<calls::DetachedFunction>{{1, 1000}, {9, 1000}}));
    write(R"({"tree":{"tid":501,"calls":[[0,)");
    EXPECT_EQ(merged_calls().size(), 1U);
    const auto omitted = system().quality.omitted;
    ASSERT_EQ(omitted.size(), 2U);
    EXPECT_EQ(omitted[0],
              "calls of inner were too frequent and are not recorded; their time counts as their "
              "callers'");
    EXPECT_EQ(omitted[1], "1 call trees were left out: too many");
}

TEST_F(MergeCalls, CallsThatEndWithTheirCallerDoNotReachBeyondIt) {
    // An exception left the inner call, so its end is inferred.
    auto left = call(1, 0, 5, 10);
    left.end = calls::CallEnd::Left;
    say(calls::to_json(tree(501, 50, {call(0, calls::no_parent, 0, 10), left, call(1, 0, 7, 9)})));
    const json::array found = merged_calls();
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[1].at("length_ns").as_int64(), 2'000'000)
        << "the next call of its caller ended it";
    EXPECT_EQ(text(found[1].at("ended")), "left");
}

TEST_F(MergeCalls, AnAnswerThatRefusesIsSaid) {
    std::filesystem::remove(capture_.path() / calls_lines.name);
    say({{"ok", false}, {"error", "there is no process 7"}});
    EXPECT_TRUE(merged_calls().empty());
    EXPECT_EQ(system().quality.omitted.front(), "calls were not recorded: there is no process 7");
}

TEST_F(MergeCalls, MoreCallsThanAreKeptAreCounted) {
    for (int i = 0; i < 3; ++i)
        say(calls::to_json(
            tree(501, 50 + 10 * i, {call(0, calls::no_parent, 0, 5), call(1, 0, 1, 2)})));
    const RecordedCalls recorded = read_recorded_calls(capture_.path(), 5);
    EXPECT_EQ(recorded.trees.size(), 2U);
    EXPECT_EQ(recorded.left_out, 1U);
}

}  // namespace
}  // namespace lagtrap::trace::merge_calls_test
