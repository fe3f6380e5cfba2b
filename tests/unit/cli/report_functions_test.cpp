#include "cli/reports/report_functions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_test.hpp"

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

analysis::CallLine line_of(const std::vector<std::string>& functions, std::uint32_t depth,
                           std::uint64_t on_cpu_ms, std::uint64_t blocked_ms = 0) {
    analysis::CallLine line;
    line.functions = functions;
    line.place.function = functions.back();
    line.place.module = "/opt/shop/bin/shopd";
    line.depth = depth;
    line.on_cpu_ns = on_cpu_ms * ms;
    line.blocked_ns = blocked_ms * ms;
    line.reason = blocked_ms > 0 ? "disk" : "";
    line.reason_ns = line.blocked_ns;
    return line;
}

// A delay of a second with each kind of line.
analysis::DelayReport every_line() {
    analysis::DelayReport report;
    report.split.wall_ns = 1000 * ms;
    report.calls.push_back(line_of({"main", "shop::Server::serve(int)"}, 0, 900));
    report.calls.push_back(line_of({"shop::Cart::total() const"}, 1, 300, 200));
    report.calls.back().waiting_ns = 50 * ms;
    report.calls.back().place.source = "/src/shop/cart.cpp";
    report.calls.back().place.line = 311;
    report.calls.push_back(line_of({"inflate_block"}, 2, 90));
    report.calls.back().place.module = "/usr/lib/libz.so.1";
    report.calls.back().place.source = "/src/zlib/inflate.c";
    report.calls.push_back(line_of({"inflate_fast"}, 3, 80));
    report.calls.back().place.module = "/usr/lib/libz.so.1";
    report.calls.push_back(line_of({"[shopd]"}, 1, 70));
    report.calls.push_back(line_of({"shop::lock()"}, 1, 10, 90));
    report.calls.back().place.called = "pthread_mutex_lock";
    report.calls.back().place.called_module = "/lib/libc.so.6";
    report.calls.back().called_ns = 60 * ms;
    report.calls.back().nameless_ns = 50 * ms;
    report.calls.push_back(
        line_of({"std::map<std::string, shop::VeryLongNameOfAClass<int, long>>::find_or_insert_it",
                 "shop::detail::another_namespace::SomeClass::a_function_with_a_long_name"},
                1, 60));
    for (std::uint64_t i = 0; i < 8; ++i)
        report.calls.push_back(line_of({"small_" + std::to_string(i)}, 1, 21 + i));
    report.calls.push_back(line_of({"tiny"}, 1, 19));
    for (const std::uint64_t own_ms : {200, 150, 100, 90, 80, 70, 49}) {
        report.innermost.push_back(line_of({"own_" + std::to_string(own_ms)}, 0, own_ms));
        report.innermost.back().own_ns = own_ms * ms;
    }
    report.innermost[1].place.function = "shop::Cart::total() const";  // as shown above
    for (const std::uint64_t kernel_ms : {110, 100, 60, 55, 49}) {
        analysis::FunctionTime function;
        function.name = "kernel_" + std::to_string(kernel_ms);
        function.on_cpu_ns = kernel_ms * ms;
        function.waiting_ns = 10 * ms;
        report.kernel_functions.push_back(function);
    }
    for (std::uint64_t i = 0; i < 22; ++i) {
        analysis::StackTime stack;
        stack.frames = {"main", "shop::work_" + std::to_string(i) + "(int)", "k:schedule(int)"};
        stack.kernel_from = 2;
        stack.on_cpu_ns = (40 - i) * ms;
        report.stacks.push_back(stack);
    }
    report.stacks[1].frames.clear();
    return report;
}

TEST(ReportFunctions, ShowEachKindOfLine) {
    const analysis::DelayReport report = every_line();
    const ReportLook all{Paint(false), 100, true}, narrow{Paint(false), 80, false};
    test::expect_text(functions_part(report, plain) + "# 80 columns\n" +
                          functions_part(report, narrow) + "# all\n" + functions_part(report, all) +
                          "# stacks\n" + stacks_part(report, plain),
                      "report_functions.txt");
}

TEST(ReportFunctions, CutNothingThatFitsOnALineOfItsOwn) {
    analysis::DelayReport report = waits_of_main();
    report.calls[0].on_cpu_ns = 60 * ms;
    report.calls[0].waiting_ns = 30 * ms;
    report.calls[0].place.called = "fsync";
    report.calls[0].place.called_module = "/lib/libc.so.6";
    report.calls[0].called_ns = 390 * ms;
    EXPECT_THAT(functions_part(report, {Paint(false), 80, false}),
                HasSubstr("on CPU 15 %, lock (futex) 50 %, otherwise blocked 25 %, waiting 8 %\n"
                          "           in libc: fsync\n"));
}

TEST(ReportFunctions, SayWhatIsMissing) {
    analysis::DelayReport report;
    EXPECT_EQ(functions_part(report, plain), "\nFunctions\n  nothing of this delay was recorded\n");
    EXPECT_EQ(stacks_part(report, plain), "");
    report.split.wall_ns = 10 * ms;
    EXPECT_EQ(functions_part(report, plain),
              "\nFunctions  with what they call; shares of the delay\n  no stacks of programs\n");
    report.split.not_recorded_ns = 4 * ms;
    EXPECT_EQ(functions_part(report, plain),
              "\nFunctions  with what they call; shares of the 6.00 ms recorded\n"
              "  no stacks of programs\n");
    report.split.not_recorded_ns = 10 * ms;
    report.receiver.tid = 7;
    report.receiver.thread = "sender";
    EXPECT_EQ(functions_part(report, plain),
              "\nFunctions  of sender (7), which ended it, in that time\n"
              "  no stacks of programs\n");
    report.receiver.split.wall_ns = 100 * ms;
    report.receiver.calls = {line_of({"main"}, 0, 50)};
    EXPECT_THAT(functions_part(report, plain), HasSubstr("in that time\n   50 %  main "));
}

}  // namespace
}  // namespace lagtrap::cli::report_functions_test
