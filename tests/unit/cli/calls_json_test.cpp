#include "cli/calls/calls_json.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/reports/report_calls.hpp"

namespace lagtrap::cli::calls_json_test {
namespace {

using testing::HasSubstr;

calls::Function function_named(const std::string& name) {
    calls::Function function;
    function.name = name;
    function.module = "/bin/app";
    return function;
}

class CallsOfRun : public testing::Test {
  protected:
    CallsOfRun() {
        functions_ = {function_named("main"), function_named("work")};
        functions_[1].source = "/src/work.c";
        functions_[1].line = 7;
        functions_[1].seen = true;
        calls::Call root;
        root.end_ns = 100;
        calls::Call inner;
        inner.function = 1;
        inner.parent = 0;
        inner.begin_ns = 10;
        inner.end_ns = 90;
        inner.left_out = 3;
        inner.end = calls::CallEnd::Left;
        tree_.calls = {root, inner};
        tree_.tid = 43;
        times_ = {{99, 1, 2, 96, 20}, {79, 3, 4, 72, 79}};
    }
    calls::Tree tree_;
    std::vector<calls::Times> times_;
    std::vector<calls::Function> functions_;
};

TEST_F(CallsOfRun, AreRowsWithTheirCaller) {
    EXPECT_EQ(boost::json::serialize(tree_calls_json(tree_, times_, functions_)),
              R"([{"function":"main","module":"/bin/app","parent":null,"begin_ns":0,)"
              R"("wall_ns":99,"own_ns":20,"on_cpu_ns":1,"runnable_ns":2,"blocked_ns":96,)"
              R"("with_probes_ns":100,"end":"returned"},)"
              R"({"function":"work","module":"/bin/app","parent":0,"begin_ns":10,"wall_ns":79,)"
              R"("own_ns":79,"on_cpu_ns":3,"runnable_ns":4,"blocked_ns":72,"with_probes_ns":80,)"
              R"("end":"left","not_kept":3,"seen":true,"source":"/src/work.c","line":7}])");
}

TEST_F(CallsOfRun, OfAGoroutineHaveNoStates) {
    tree_.goroutine = 5;
    const auto rows = tree_calls_json(tree_, times_, functions_);
    for (const char* name : {"on_cpu_ns", "runnable_ns", "blocked_ns"})
        EXPECT_TRUE(rows.at(0).at(name).is_null()) << name;
    EXPECT_EQ(rows.at(0).at("wall_ns"), 99U);
}

TEST_F(CallsOfRun, AreInTheReportOrTheReportSaysWhereTheyAre) {
    const ReportLook plain{Paint(false), 100, false};
    analysis::Recording recording;
    trace::Delay without;
    without.begin_pid = without.begin_tid = 42;
    without.duration_ns = 1'000'000;
    EXPECT_EQ(calls_part(recording, without, plain), "");
    EXPECT_TRUE(run_calls_json(recording, without).is_null());
    recording.called_functions = functions_;
    trace::Delay with = without;
    with.begin_tid = 43;
    with.duration_ns = 90;
    recording.run_calls = {{42, 0, tree_, times_}};
    recording.system.delays = {without};
    EXPECT_EQ(calls_part(recording, without, plain), "");  // those of no run
    recording.system.delays = {without, with, with};
    recording.system.delays[2].duration_ns = 100;
    EXPECT_THAT(calls_part(recording, with, plain),
                HasSubstr("\nCalls  of this run, without the probes' time: share, time, own time"));
    EXPECT_THAT(calls_part(recording, with, plain), HasSubstr("work"));
    EXPECT_EQ(run_calls_json(recording, with).as_array().size(), 2U);
    EXPECT_EQ(calls_part(recording, without, plain),
              "\nCalls\n  Not recorded for this run. 2 delays of this recording have them; the "
              "longest is --delay 3.\n");
    recording.system.delays[2].begin_tid = 99;
    EXPECT_EQ(calls_part(recording, without, plain),
              "\nCalls\n  Not recorded for this run. 1 delay of this recording has them; the "
              "longest is --delay 2.\n");
    recording.system.delays = {with, with, without};
    EXPECT_THAT(calls_part(recording, without, plain), HasSubstr("longest is --delay 1."));
}

}  // namespace
}  // namespace lagtrap::cli::calls_json_test
