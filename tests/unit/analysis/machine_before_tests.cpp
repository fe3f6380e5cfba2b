#include <gtest/gtest.h>

#include "analysis/machine_before.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::machine_before_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t begin = TraceBuilder::begin_ns;

TraceBuilder with_history(std::uint64_t length_ns) {
    TraceBuilder builder(30 * ms, 2);
    builder.system.history_length_ns = length_ns;
    builder.system.history_interval_ns = 20 * ms;
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    return builder;
}

trace::Delay delay_at(std::int64_t offset_ns) {
    trace::Delay delay;
    delay.begin_ns = begin + static_cast<std::uint64_t>(offset_ns);
    delay.duration_ns = 10 * ms;
    return delay;
}

TEST(MachineBefore, AddsUpWhoHadTheCpus) {
    TraceBuilder builder = with_history(1000 * ms);
    builder.thread(20, 20, "cc1plus").thread(21, 21, "cc1plus");
    // 25 of 50 samples of one CPU, and one from before the window.
    for (std::uint64_t i = 1; i <= 15; ++i)
        builder.earlier_sample(i * 20 * ms, 20, 20, {"main", "parse"});
    for (std::uint64_t i = 16; i <= 25; ++i)
        builder.earlier_sample(i * 20 * ms, 21, 21, {"main", "emit"});
    builder.earlier_sample(1500 * ms, 10, 10, {"main"});
    builder.earlier_wait(300 * ms, 200 * ms, 10, 10, 0, {"main", "k:io_schedule"}, false);
    builder.earlier_wait(100 * ms, 50 * ms, 10, 10, 0, {"main", "k:io_schedule"}, false);
    builder.earlier_wait(90 * ms, 5 * ms, 10, 10, 0, {"main", "k:futex_wait"}, true);
    const auto before = machine_before(builder.decode().value(), delay_at(0));
    ASSERT_TRUE(before);
    EXPECT_EQ(before->length_ns, 1000 * ms);
    EXPECT_EQ(before->samples, 25U);
    EXPECT_DOUBLE_EQ(before->busy_share, 0.25);
    ASSERT_EQ(before->processes.size(), 1U);
    EXPECT_EQ(before->processes[0].name, "cc1plus");
    EXPECT_EQ(before->processes[0].processes, 2U);
    EXPECT_EQ(before->processes[0].pid, 0U);
    EXPECT_DOUBLE_EQ(before->processes[0].share, 0.25);
    EXPECT_EQ(before->processes[0].function, "parse");
    EXPECT_DOUBLE_EQ(before->processes[0].function_share, 0.6);
    ASSERT_EQ(before->disk_waits.size(), 1U);
    EXPECT_EQ(before->disk_waits[0].count, 2U);
    EXPECT_EQ(before->disk_waits[0].longest_ns, 200 * ms);
    EXPECT_EQ(before->disk_waits[0].total_ns, 250 * ms);
}

TEST(MachineBefore, EndsWhereTheDelayBegins) {
    TraceBuilder builder = with_history(1000 * ms);
    for (std::uint64_t i = 1; i <= 40; ++i) builder.earlier_sample(i * 20 * ms, 10, 10, {"main"});
    const auto before =
        machine_before(builder.decode().value(), delay_at(-static_cast<std::int64_t>(400 * ms)));
    ASSERT_TRUE(before);
    EXPECT_EQ(before->length_ns, 600 * ms);
    EXPECT_EQ(before->samples, 20U);
}

TEST(MachineBefore, IsNothingWithoutHistory) {
    EXPECT_FALSE(machine_before(with_history(0).decode().value(), delay_at(0)));
    const auto recording = with_history(1000 * ms).decode().value();
    EXPECT_FALSE(machine_before(recording, delay_at(-static_cast<std::int64_t>(990 * ms))))
        << "too short to say";
    const auto idle = machine_before(recording, delay_at(0));
    ASSERT_TRUE(idle);
    EXPECT_EQ(idle->samples, 0U);
    EXPECT_TRUE(idle->processes.empty());
}

}  // namespace
}  // namespace lagtrap::analysis::machine_before_tests
