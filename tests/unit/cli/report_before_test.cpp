#include "cli/reports/report_before.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::cli::report_before_test {
namespace {

using test::TraceBuilder;
using testing::HasSubstr;
using testing::Not;
constexpr std::uint64_t ms = TraceBuilder::ms;

// One second of history of two CPUs, with a sample each 20 ms.
TraceBuilder with_history(std::uint64_t length_ns = 1000 * ms) {
    TraceBuilder builder(30 * ms, 2);
    builder.system.history_length_ns = length_ns;
    builder.system.history_interval_ns = 20 * ms;
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    return builder;
}

trace::Delay delay_at_begin() {
    trace::Delay delay;
    delay.begin_ns = TraceBuilder::begin_ns;
    delay.duration_ns = 10 * ms;
    return delay;
}

std::string text_of(const TraceBuilder& builder, bool all = false, std::size_t columns = 80) {
    return before_part(builder.decode().value(), delay_at_begin(), Paint(false), all, columns);
}

TEST(ReportBefore, IsNothingWithoutHistory) {
    EXPECT_EQ(text_of(with_history(0)), "");
    EXPECT_TRUE(before_json(with_history(0).decode().value(), delay_at_begin()).is_null());
}

TEST(ReportBefore, TellsWhoHadTheCpus) {
    TraceBuilder builder = with_history();
    builder.thread(20, 20, "cc1plus").thread(21, 21, "cc1plus");
    for (std::uint64_t i = 1; i <= 25; ++i)
        builder.earlier_sample(i * 20 * ms, i < 20 ? 20 : 21, i < 20 ? 20 : 21, {"main", "parse"});
    builder.earlier_sample(30 * ms, 10, 10, {});
    const std::string text = text_of(builder);
    EXPECT_THAT(text, HasSubstr("\nBefore it  in the last 1.00 s, idle 74 %, by 26 call stacks\n"));
    EXPECT_THAT(text, HasSubstr("   25 %  cc1plus (2 processes), most in parse\n"
                                "    1 %  app (10)\n"));
}

TEST(ReportBefore, HasFourProcessesUnlessAllAreWanted) {
    TraceBuilder builder = with_history();
    for (std::uint32_t pid = 20; pid < 25; ++pid) {
        builder.thread(pid, pid, "p" + std::to_string(pid));
        for (std::uint64_t i = 1; i <= 30 - pid; ++i)
            builder.earlier_sample(i * 20 * ms + pid, pid, pid, {"main"});
    }
    EXPECT_THAT(text_of(builder), HasSubstr("p23 (23), most in main\n"));
    EXPECT_THAT(text_of(builder), Not(HasSubstr("p24")));
    EXPECT_THAT(text_of(builder, true), HasSubstr("p24 (24), most in main\n"));
    EXPECT_THAT(text_of(builder, true, 20), HasSubstr("    6 %  p24 (24)...\n"));
}

TEST(ReportBefore, TellsOfLongWaitsForDisks) {
    TraceBuilder builder = with_history();
    const TraceBuilder::Stack disk{"main", "k:io_schedule"};
    builder.earlier_wait(300 * ms, 200 * ms, 10, 10, 0, disk, false);
    builder.earlier_wait(90 * ms, 50 * ms, 10, 10, 0, disk, false);
    builder.thread(20, 20, "short").earlier_wait(300 * ms, 10 * ms - 1, 20, 20, 0, disk, false);
    EXPECT_THAT(text_of(builder),
                HasSubstr("  app (10) waited for a disk 2 times, 200 ms at the longest\n"));
    EXPECT_THAT(text_of(builder), Not(HasSubstr("short")));
    EXPECT_THAT(text_of(builder, true), HasSubstr("short (20) waited for a disk 1 time, 10"));
    for (std::uint32_t pid = 30; pid < 32; ++pid)
        builder.thread(pid, pid, "p" + std::to_string(pid))
            .earlier_wait(300 * ms, (50 - pid) * ms, pid, pid, 0, disk, false);
    EXPECT_THAT(text_of(builder), HasSubstr("p30 (30) waited"));
    EXPECT_THAT(text_of(builder), Not(HasSubstr("p31")));
    const auto json = before_json(builder.decode().value(), delay_at_begin());
    EXPECT_EQ(boost::json::serialize(json.at("disk_waits").at(0)),
              R"({"process":"app","pid":10,"unit":"","count":2,"total_ns":250000000,)"
              R"("longest_ns":200000000})");
    EXPECT_EQ(json.at("disk_waits").as_array().size(), 4U);
}

TEST(ReportBefore, AWaitOfTenMillisecondsIsLong) {
    TraceBuilder builder = with_history();
    builder.earlier_wait(300 * ms, 10 * ms, 10, 10, 0, {"main", "k:io_schedule"}, false);
    EXPECT_THAT(text_of(builder), HasSubstr("  app (10) waited for a disk 1 time, 10.0 ms at"));
}

}  // namespace
}  // namespace lagtrap::cli::report_before_test
