// A capture's trace of functions (functions.jsonl) becomes slices by thread, and counts in the
// system file.
#include <fstream>

#include "calls/function_stream.hpp"
#include "tests/unit/trace/merge_fixture.hpp"
#include "trace/logs/lines_file.hpp"
#include "trace/merge/recorded_functions.hpp"

namespace lagtrap::trace::merge_functions_test {
namespace {

calls::TracedCall call(std::uint32_t function, std::uint32_t tid, double begin_ms, double end_ms) {
    return {function, tid, at_ms(begin_ms), at_ms(end_ms), 0, 0, false, "worker"};
}

class MergeFunctions : public Merge {
  protected:
    void SetUp() override {
        Merge::SetUp();
        write_busy_capture(capture_.path());
    }
    void begin(std::size_t functions) {
        calls::FunctionsStarted started;
        started.pid = 500;
        started.process = "server";
        started.window_ns = 7;
        started.from_ns = at_ms(1);
        for (std::size_t number = 0; number < functions; ++number) {
            calls::Function one;
            one.name = "f" + std::to_string(number);
            one.module = "/usr/bin/server";
            started.functions.push_back(one);
        }
        say(calls::to_json(started));
    }
    void end(std::vector<calls::FunctionTotals> totals) {
        calls::FunctionsEnded ended;
        ended.length_ns = 99;
        ended.not_sent = 5;
        ended.too_deep = 6;
        ended.min_ns = 20;
        ended.totals = std::move(totals);
        say(calls::to_json(ended));
    }
    void say(const json::object& line) { write(json::serialize(line) + "\n"); }
    void write(const std::string& text) {
        std::ofstream(capture_.path() / functions_lines.name, std::ios::app | std::ios::binary)
            << text;
    }
    json::array merged_calls() {
        EXPECT_TRUE(merge().ok());
        const json::object found = decoded(trace());
        return found.empty() ? json::array() : found.at("function_calls").as_array();
    }
};

TEST_F(MergeFunctions, CallsAreSlicesAndCountsAreInTheSystemFile) {
    begin(3);
    say(calls::to_json(std::vector<calls::TracedCall>{call(1, 501, 20, 30), call(0, 501, 10, 40)}));
    say(calls::to_json(std::vector<calls::DetachedFunction>{{2, 1000}}));
    end({{0, 4, 1, 700, 600, {}}, {1, 9, 0, 900, 500, {0}}});
    const json::array found = merged_calls();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(text(found[0].at("name")), "f0");
    EXPECT_EQ(found[1].at("depth").as_int64(), 1);
    EXPECT_EQ(found[0].at("own_ns").as_int64(), 20'000'000);
    const auto counts = system().functions;
    ASSERT_TRUE(counts);
    EXPECT_EQ(counts->pid, 500U);
    EXPECT_EQ(counts->window_ns, 7U);
    EXPECT_EQ(counts->watched, 3U);
    EXPECT_EQ(counts->detached, 1U);
    EXPECT_EQ(counts->reported, 2U);
    EXPECT_EQ(counts->not_reported, 5U);
    EXPECT_EQ(counts->too_deep, 6U);
    ASSERT_EQ(counts->functions.size(), 2U);
    EXPECT_EQ(counts->functions[0].name, "f1") << "the one with most own time";
    EXPECT_EQ(counts->functions[0].path, std::vector<std::string>{"f0"});
    EXPECT_EQ(counts->functions[1].left, 1U);
    EXPECT_TRUE(system().quality.omitted.empty());
}

TEST_F(MergeFunctions, OfManyThoseWithMuchTimeAndThoseWithLongCallsAreKept) {
    constexpr std::uint32_t many = 400;
    begin(many);
    std::vector<calls::FunctionTotals> totals;
    for (std::uint32_t number = 0; number < many; ++number)
        totals.push_back({number, 1, 0, number + 1, many - number, {}});
    end(totals);
    EXPECT_TRUE(merge().ok());
    const auto counts = system().functions;
    ASSERT_TRUE(counts);
    ASSERT_EQ(counts->functions.size(), FunctionCounts::functions_limit);
    EXPECT_EQ(counts->functions.front().own_ns, many);
    EXPECT_EQ(counts->functions.back().name, "f0")
        << "the longest call, though it has the least time";
    EXPECT_EQ(counts->others, many - FunctionCounts::functions_limit);
    std::uint64_t sum = counts->others_own_ns;
    for (const CountedFunction& one : counts->functions) sum += one.own_ns;
    EXPECT_EQ(sum, many * (many + 1) / 2);
}

TEST_F(MergeFunctions, WhatIsCutShortIsSaid) {
    begin(1);
    say(calls::to_json(std::vector<calls::TracedCall>{call(0, 501, 20, 30), call(7, 501, 10, 40)}));
    write(R"({"ended_functions":{)");
    EXPECT_EQ(merged_calls().size(), 1U) << "the other is of no function";
    EXPECT_EQ(system().functions->length_ns, 0U);
    ASSERT_EQ(system().quality.omitted.size(), 1U);
    EXPECT_EQ(system().quality.omitted[0],
              "functions were not counted: lagtrapd exited before it reported the counts");
}

TEST_F(MergeFunctions, AnAnswerThatRefusesIsSaid) {
    say({{"ok", false}, {"error", "a program of Go"}});
    EXPECT_TRUE(merged_calls().empty());
    EXPECT_FALSE(system().functions);
    EXPECT_EQ(system().quality.omitted.front(), "functions were not traced: a program of Go");
}

TEST_F(MergeFunctions, MoreCallsThanAreKeptAreCounted) {
    begin(1);
    say(calls::to_json(std::vector<calls::TracedCall>(4, call(0, 501, 20, 30))));
    const RecordedFunctions recorded = read_recorded_functions(capture_.path(), 3);
    EXPECT_EQ(recorded.calls.size(), 3U);
    EXPECT_EQ(recorded.left_out, 1U);
}

}  // namespace
}  // namespace lagtrap::trace::merge_functions_test
