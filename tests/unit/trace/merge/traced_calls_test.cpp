// Calls and functions of a recording: their sentences, counts and tracks.
#include <fstream>

#include <gmock/gmock.h>

#include "calls/call_stream.hpp"
#include "calls/function_stream.hpp"
#include "tests/unit/trace/packets_fixture.hpp"
#include "trace/logs/lines_file.hpp"
#include "trace/merge/calls_in_trace.hpp"
#include "trace/merge/functions_in_trace.hpp"

namespace lagtrap::trace::traced_calls_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

calls::Function function(const std::string& name) {
    calls::Function made;
    made.name = name;
    made.module = "/bin/" + name;
    return made;
}

class TracedCalls : public Packets {
  protected:
    void say(const char* file_name, const json::object& line) {
        std::ofstream(folder_.path() / file_name, std::ios::app) << json::serialize(line) << "\n";
    }
    void say_calls(const json::object& line) { say(calls_lines.name, line); }
    void say_functions(const json::object& line) { say(functions_lines.name, line); }
    void begin_calls(std::size_t functions) {
        calls::Started started;
        started.pid = 100;
        started.process = "server";
        for (std::size_t i = 0; i < functions; ++i)
            started.functions.push_back(function("f" + std::to_string(i)));
        say_calls(calls::to_json(started));
    }
    void begin_functions(std::size_t functions) {
        calls::FunctionsStarted started;
        started.pid = 100;
        started.process = "server";
        started.window_ns = 7;
        started.from_ns = 50;
        for (std::size_t i = 0; i < functions; ++i)
            started.functions.push_back(function("f" + std::to_string(i)));
        say_functions(calls::to_json(started));
    }
    std::vector<std::string> sentences_of_calls() {
        file_.quality.omitted.clear();
        CallsInTrace calls;
        calls.load(folder_.path(), file_);
        return file_.quality.omitted;
    }
    std::optional<FunctionCounts> counts() {
        file_ = SystemFile();
        FunctionsInTrace functions;
        functions.load(folder_.path(), file_);
        functions.add_to(writer_, 1000, file_);
        functions.write_due(1'000);
        return file_.functions;
    }
    void end_functions(std::vector<calls::FunctionTotals> totals) {
        calls::FunctionsEnded ended;
        ended.length_ns = 99;
        ended.not_sent = 5;
        ended.too_deep = 6;
        ended.min_ns = 20;
        ended.totals = std::move(totals);
        say_functions(calls::to_json(ended));
    }

    SystemFile file_;
};

TEST_F(TracedCalls, FunctionsThatWereTooFrequentAreNamed) {
    begin_calls(6);
    EXPECT_THAT(sentences_of_calls(), IsEmpty());
    const std::string rest =
        " were too frequent and are not recorded; their time counts as their callers'";
    say_calls(calls::to_json(std::vector<calls::DetachedFunction>{{1, 9}, {3, 9}, {2, 9}}));
    EXPECT_THAT(sentences_of_calls(), ElementsAre("calls of f1, f3, f2" + rest));
    say_calls(calls::to_json(std::vector<calls::DetachedFunction>{{4, 9}, {5, 9}}));
    EXPECT_THAT(sentences_of_calls(), ElementsAre("calls of f1, f3, f2 and 2 others" + rest));
}

TEST_F(TracedCalls, WhatIsMissingIsSaidUpToTheLimit) {
    say_calls({{"ok", false}, {"error", "no process\n7"}});
    EXPECT_THAT(sentences_of_calls(), ElementsAre("calls were not recorded: no process\\x0a7"));
    file_.quality.omitted.assign(omitted_limit, "x");
    CallsInTrace calls;
    calls.load(folder_.path(), file_);
    EXPECT_EQ(file_.quality.omitted.size(), omitted_limit);
    say_functions({{"ok", false}, {"error", "a\nb"}});
    FunctionsInTrace functions;
    functions.load(folder_.path(), file_);
    EXPECT_EQ(file_.quality.omitted.size(), omitted_limit);
    file_.quality.omitted.pop_back();
    functions.load(folder_.path(), file_);
    EXPECT_EQ(file_.quality.omitted.back(), "functions were not traced: a\\x0ab");
}

TEST_F(TracedCalls, ACaptureWithoutTracesSaysNothing) {
    EXPECT_THAT(sentences_of_calls(), IsEmpty());
    EXPECT_FALSE(counts());
    EXPECT_THAT(file_.quality.omitted, IsEmpty());
}

TEST_F(TracedCalls, TreesThatWereNotSentOrKeptAreCounted) {
    begin_calls(1);
    calls::Ended ended;
    ended.not_kept = 3;
    ended.not_sent = 4;
    say_calls(calls::to_json(ended));
    EXPECT_THAT(sentences_of_calls(), ElementsAre("7 call trees were left out: too many"));
}

TEST_F(TracedCalls, FunctionsThatWereFoundLaterContinueTheNumbers) {
    begin_calls(1);
    say_calls(calls::to_json(std::vector<calls::Function>{function("late")}));
    say_calls(calls::to_json(std::vector<calls::DetachedFunction>{{1, 9}, {2, 9}}));
    EXPECT_THAT(sentences_of_calls(),
                ElementsAre("calls of late were too frequent and are not recorded; their time "
                            "counts as their callers'"));
    begin_functions(1);
    say_functions(calls::to_json(std::vector<calls::Function>{function("late")}));
    say_functions(calls::to_json(std::vector<calls::DetachedFunction>{{1, 9}, {2, 9}}));
    // Of no function: a total, and callers on a path.
    end_functions({{1, 4, 1, 700, 600, {0, 2, 1}, 0}, {2, 4, 1, 700, 600, {}, 0}});
    const auto found = counts();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->watched, 2U);
    EXPECT_EQ(found->detached, 1U);
    ASSERT_EQ(found->functions.size(), 1U);
    EXPECT_EQ(found->functions[0].name, "late");
    EXPECT_THAT(found->functions[0].path, ElementsAre("late", "f0"));
}

TEST_F(TracedCalls, TheFirstLineThatIsDamagedIsTheProblem) {
    begin_calls(1);
    std::ofstream(folder_.path() / calls_lines.name, std::ios::app) << "no JSON\n";
    say_calls(calls::to_json(std::vector<calls::DetachedFunction>{{0, 9}}));
    const std::vector<std::string> found = sentences_of_calls();
    ASSERT_EQ(found.size(), 1U) << "the lines after it are not read";
    EXPECT_THAT(found[0], testing::StartsWith("calls were not recorded: "));
    begin_functions(1);
    std::ofstream(folder_.path() / functions_lines.name, std::ios::app) << "no JSON\n";
    end_functions({{0, 4, 1, 700, 600, {}, 0}});
    EXPECT_EQ(counts()->length_ns, 0U);
    ASSERT_EQ(file_.quality.omitted.size(), 1U);
    EXPECT_THAT(file_.quality.omitted[0], testing::StartsWith("functions were not counted: "));
    EXPECT_THAT(file_.quality.omitted[0], testing::Not(HasSubstr("lagtrapd exited")));
}

TEST_F(TracedCalls, FilesThatCannotBeReadAreTheProblem) {
    std::filesystem::create_directory(folder_.path() / calls_lines.name);
    std::filesystem::create_directory(folder_.path() / functions_lines.name);
    EXPECT_THAT(sentences_of_calls(),
                ElementsAre(testing::StartsWith("calls were not recorded: ")));
    EXPECT_FALSE(counts());
    EXPECT_THAT(file_.quality.omitted,
                ElementsAre(testing::StartsWith("functions were not traced: ")));
}

TEST_F(TracedCalls, TracksHaveTheNameOfTheFirstFunction) {
    begin_calls(2);
    calls::Tree tree;
    tree.tid = 101;
    tree.thread = "worker";
    tree.began_monotonic_ns = 10;
    calls::Call outer;
    outer.function = 0;
    outer.parent = calls::no_parent;
    outer.end_ns = 20;
    tree.calls = {outer};
    say_calls(calls::to_json(tree));
    CallsInTrace calls;
    calls.load(folder_.path(), file_);
    calls.add_to(writer_, 1000);
    EXPECT_EQ(calls.next_due_ns(), 10U);
    calls.write_due(29);
    EXPECT_EQ(calls.next_due_ns(), 30U);
    calls.write_due(30);
    EXPECT_EQ(calls.next_due_ns(), UINT64_MAX);
    EXPECT_THAT(packets("'calls of f0'"), testing::SizeIs(1));
    EXPECT_THAT(packets("type=1"), ElementsAre(testing::StartsWith("6 1010 ")));
    EXPECT_THAT(packets("type=2"), ElementsAre(testing::StartsWith("6 1030 ")));
}

TEST_F(TracedCalls, CountsOfFunctionsAreInTheSystemFile) {
    begin_functions(3);
    say_functions(calls::to_json(std::vector<calls::TracedCall>{
        {1, 101, 60, 70, 0, 0, false, "worker"}, {0, 101, 55, 90, 0, 0, false, "worker"}}));
    say_functions(calls::to_json(std::vector<calls::DetachedFunction>{{2, 9}}));
    end_functions({{0, 4, 1, 700, 600, {2, 1}, 3}, {1, 9, 0, 900, 500, {0}, 0}});
    const auto found = counts();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->pid, 100U);
    EXPECT_EQ(found->process, "server");
    EXPECT_EQ(found->from_ns, 1050U);
    EXPECT_EQ(found->window_ns, 7U);
    EXPECT_EQ(found->length_ns, 99U);
    EXPECT_EQ(found->min_ns, 20U);
    EXPECT_EQ(found->watched, 3U);
    EXPECT_EQ(found->detached, 1U);
    EXPECT_EQ(found->reported, 2U);
    EXPECT_EQ(found->not_reported, 5U);
    EXPECT_EQ(found->too_deep, 6U);
    EXPECT_EQ(found->others, 0U);
    ASSERT_EQ(found->functions.size(), 2U);
    const CountedFunction& most = found->functions[0];
    EXPECT_EQ(most.name, "f1") << "most own time first";
    EXPECT_EQ(most.calls, 9U);
    const CountedFunction& other = found->functions[1];
    EXPECT_EQ(other.module, "/bin/f0");
    EXPECT_EQ(other.calls, 7U) << "with those of which only the end was seen";
    EXPECT_EQ(other.left, 1U);
    EXPECT_EQ(other.own_ns, 700U);
    EXPECT_EQ(other.longest_ns, 600U);
    EXPECT_THAT(other.path, ElementsAre("f1", "f2")) << "the outermost first";
    EXPECT_THAT(packets("type=1"),
                ElementsAre(testing::StartsWith("7 1055 "), testing::StartsWith("7 1060 ")));
    EXPECT_THAT(file_.quality.omitted, IsEmpty());
}

TEST_F(TracedCalls, CallPathsKeepTheNearestCallers) {
    begin_functions(20);
    std::vector<std::uint32_t> path;
    for (std::uint32_t i = 1; i < 20; ++i) path.push_back(i);
    end_functions({{0, 1, 0, 7, 6, path, 0}});
    const std::vector<std::string> found = counts()->functions.at(0).path;
    ASSERT_EQ(found.size(), FunctionCounts::path_limit);
    EXPECT_EQ(found.front(), "f16");
    EXPECT_EQ(found.back(), "f1");
}

TEST_F(TracedCalls, ATraceCutShortHasNoCounts) {
    begin_functions(1);
    const auto found = counts();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->length_ns, 0U);
    EXPECT_TRUE(found->functions.empty());
    EXPECT_THAT(file_.quality.omitted, ElementsAre("functions were not counted: lagtrapd exited "
                                                   "before it reported the counts"));
}

// Function i has i + 1 ns of its own, and calls of up to 1000 - i ns.
std::vector<calls::FunctionTotals> totals_of(std::uint32_t count) {
    std::vector<calls::FunctionTotals> totals;
    for (std::uint32_t i = 0; i < count; ++i) totals.push_back({i, 2, 0, i + 1, 1000 - i, {}, 1});
    return totals;
}

TEST_F(TracedCalls, ManyFunctionsAreKeptByTheirTime) {
    begin_functions(FunctionCounts::functions_limit);
    end_functions(totals_of(FunctionCounts::functions_limit));
    const auto found = counts();
    EXPECT_EQ(found->functions.size(), FunctionCounts::functions_limit);
    EXPECT_EQ(found->functions.front().name, "f199");
    EXPECT_EQ(found->functions.back().name, "f0");
    EXPECT_EQ(found->others, 0U);
    EXPECT_EQ(found->others_calls, 0U);
}

TEST_F(TracedCalls, OfMoreFunctionsThoseWithTheLongestCallsAreKeptToo) {
    begin_functions(300);
    end_functions(totals_of(300));
    const auto found = counts();
    ASSERT_EQ(found->functions.size(), FunctionCounts::functions_limit);
    EXPECT_EQ(found->functions[0].name, "f299");
    EXPECT_EQ(found->functions[149].name, "f150") << "150 with most time of their own";
    EXPECT_EQ(found->functions[150].name, "f49") << "and 50 with the longest calls";
    EXPECT_EQ(found->functions[199].name, "f0");
    EXPECT_EQ(found->others, 100U);
    EXPECT_EQ(found->others_calls, 300U);
    EXPECT_EQ(found->others_own_ns, 100 * (51 + 150) / 2U);
}

}  // namespace
}  // namespace lagtrap::trace::traced_calls_test
