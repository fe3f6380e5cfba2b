#include "cli/reports/report_traced.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::cli::report_traced_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t us = 1'000, ms = 1'000'000, s = 1'000'000'000;
const ReportLook plain{Paint(false), 100, false};
const ReportLook everything{Paint(false), 100, true};

class ReportTraced : public testing::Test {
  protected:
    ReportTraced() {
        delay_.begin_pid = 42;
        recording_.system.breach_boottime_ns = 10 * s;
        auto& counts = recording_.system.functions.emplace();
        counts.pid = 42;
        counts.process = "shop";
        counts.from_ns = 8 * s;
        counts.length_ns = 5 * s;
        counts.watched = 1200;
        counts.min_ns = 5 * us;
        counts.reported = 2000;
        add("work", 6 * ms, "/src/work.c");
    }
    trace::FunctionCounts& counts() { return *recording_.system.functions; }
    void add(const std::string& name, std::uint64_t own_ns, const std::string& source = "") {
        trace::CountedFunction function;
        function.name = name;
        function.module = "/bin/shop";
        function.source = source;
        function.line = 7;
        function.calls = 3;
        function.left = 1;
        function.own_ns = own_ns;
        function.longest_ns = own_ns / 2;
        function.path = {"main"};
        counts().functions.push_back(function);
    }
    [[nodiscard]] std::string text(const ReportLook& look = plain) const {
        return traced_part(recording_, delay_, look);
    }
    analysis::Recording recording_;
    trace::Delay delay_;
};

TEST_F(ReportTraced, TellsWhatWasTracedAndTheLosses) {
    counts().others_own_ns = 2 * ms;
    EXPECT_EQ(text(),
              "\nFunctions traced\n"
              "  1,200 functions of shop traced for 5.00 s, from 2.00 s before the breach on; own "
              "time excludes\n  callees and probes\n"
              "  share   own time       calls       mean    longest  function\n"
              "   75 %    6.00 ms           3    2.00 ms    3.00 ms  work  work.c:7\n"
              "\nLongest calls, with their call paths\n"
              "     3.00 ms  main > work\n"
              "  Calls of 5.00 us or longer are in the trace: 2,000.\n");
    counts().from_ns = 10 * s;
    EXPECT_THAT(text(), HasSubstr("from 0 ns after the breach on"));
    counts().from_ns = 11 * s;
    counts().watched = 1;
    counts().not_reported = 1000;
    counts().detached = 1;
    counts().too_deep = 1;
    const std::string lossy = text({Paint(false), 300, false});
    EXPECT_THAT(lossy, HasSubstr("  1 function of shop traced for 5.00 s, from 1.00 s after the"));
    EXPECT_THAT(lossy,
                HasSubstr("the trace: 2,000. 1,000 more did not fit. 1 function was detached "
                          "(called too often); later calls are not counted. 1 call nested "
                          "too deep to be seen.\n"));
    counts().not_reported = 1;
    counts().detached = counts().too_deep = 2;
    EXPECT_THAT(text({Paint(false), 300, false}),
                HasSubstr(" 1 more did not fit. 2 functions were detached (called too often); "
                          "later calls are not counted. 2 calls nested too deep to be seen.\n"));
}

TEST_F(ReportTraced, HasTenRowsUnlessAllAreWanted) {
    for (int i = 1; i < 10; ++i) add("f" + std::to_string(i), ms);
    EXPECT_THAT(text(), HasSubstr("  f9\n\nLongest"));
    add("eleventh", us);
    EXPECT_THAT(text(), HasSubstr("  f9\n  and 1 more\n\nLongest"));
    counts().others = 2000;
    EXPECT_THAT(text(), HasSubstr("  f9\n  and 2,001 more\n"));
    EXPECT_THAT(text(everything), HasSubstr("  eleventh\n  and 2,000 more\n"));
}

TEST_F(ReportTraced, IsOnlyThereIfTheProcessWasTraced) {
    EXPECT_TRUE(traced_functions_json(recording_, delay_).is_object());
    delay_.begin_pid = 43;
    EXPECT_EQ(text(), "");
    EXPECT_TRUE(traced_functions_json(recording_, delay_).is_null());
    delay_.begin_pid = 42;
    counts().functions.clear();
    EXPECT_THAT(text(), HasSubstr("probes\n  No call of these functions ended in that time.\n"));
    EXPECT_THAT(text(), Not(HasSubstr("share")));
    counts().length_ns = 0;  // the counts were not sent
    EXPECT_EQ(text(), "");
    recording_.system.functions.reset();
    EXPECT_EQ(text(), "");
    EXPECT_TRUE(traced_functions_json(recording_, delay_).is_null());
}

TEST_F(ReportTraced, JsonHasAllNumbers) {
    add("other", 2);
    counts().window_ns = 11;
    counts().detached = 12;
    counts().not_reported = 13;
    counts().too_deep = 14;
    counts().others = 15;
    counts().others_calls = 16;
    counts().others_own_ns = 17;
    EXPECT_EQ(boost::json::serialize(traced_functions_json(recording_, delay_)),
              R"({"pid":42,"from_boottime_ns":8000000000,"length_ns":5000000000,"window_ns":11,)"
              R"("watched":1200,"detached":12,"least_ns":5000,"reported":2000,"not_reported":13,)"
              R"("too_deep":14,"functions":[{"function":"work","module":"/bin/shop","calls":3,)"
              R"("own_ns":6000000,"left":1,"longest_ns":3000000,"path":["main"],)"
              R"("source":"/src/work.c","line":7},{"function":"other","module":"/bin/shop",)"
              R"("calls":3,"own_ns":2,"left":1,"longest_ns":1,"path":["main"]}],"others":15,)"
              R"("others_calls":16,"others_own_ns":17})");
}

}  // namespace
}  // namespace lagtrap::cli::report_traced_test
