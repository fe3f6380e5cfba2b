#include "cli/reports/report_functions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::cli::report_functions_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t ms = 1'000'000;
const ReportLook plain{Paint(false), 100, false};

// 300 of 400 ms in waits of main, 200 of them for a lock.
analysis::DelayReport waits_of_main() {
    analysis::CallLine line;
    line.functions = {"main"};
    line.place.function = "main";
    line.blocked_ns = 300 * ms;
    line.reason = "lock (futex)";
    line.reason_ns = 200 * ms;
    analysis::DelayReport report;
    report.split.wall_ns = 400 * ms;
    report.split.on_cpu_ns = 100 * ms;
    report.split.blocked_ns = 300 * ms;
    report.calls = {line};
    return report;
}

TEST(ReportFunctions, ShowTheTimeOfTheLongestWaitAndOfTheOthers) {
    EXPECT_THAT(functions_part(waits_of_main(), plain),
                HasSubstr("lock (futex) 50 %, otherwise blocked 25 %"));
}

TEST(ReportFunctions, SaySharesOfTheDelayOnlyIfAllOfItHasStacks) {
    analysis::DelayReport report = waits_of_main();
    EXPECT_THAT(functions_part(report, plain), HasSubstr("shares of the delay"));
    report.split.counted.on_cpu_ns = 100 * ms;
    EXPECT_THAT(functions_part(report, plain), HasSubstr("shares of the 300 ms recorded"));
    EXPECT_THAT(functions_part(report, plain), Not(HasSubstr("shares of the delay")));
}

}  // namespace
}  // namespace lagtrap::cli::report_functions_test
