#include "server/reports/time_shift.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::reports::time_shift_test {
namespace {

TimedDuration usual(std::uint64_t duration_ns) {
    TimedDuration run{duration_ns, 1, {}};
    run.times.parts.on_cpu_ns = duration_ns;
    return run;
}

const PartShift& part_of(const TimeShift& shift, const std::string& state,
                         const std::string& reason) {
    static const PartShift none;
    for (const PartShift& part : shift.parts)
        if (part.state == state && part.reason == reason) return part;
    return none;
}

TEST(TimeShift, NamesWhatTheSlowestWaitFor) {
    std::vector<TimedDuration> runs;
    for (std::uint64_t i = 0; i < 198; ++i) runs.push_back(usual(1000 + i));
    for (std::uint64_t i = 0; i < 2; ++i) {
        TimedDuration slow = usual(1000);
        slow.duration_ns = 9500;
        slow.times.parts.blocked_ns[LAGTRAP_WAIT_DISK] = 6000;
        slow.times.parts.runnable_ns = 2000;
        slow.times.parts.throttled_ns = 1500;
        slow.times.handed_over_ns = 300;
        runs.push_back(slow);
    }
    const auto shift = time_shift(runs);
    ASSERT_TRUE(shift);
    EXPECT_EQ(shift->slow.runs, 2U);
    EXPECT_EQ(shift->slow.mean_ns, 9500U);
    EXPECT_EQ(shift->middle.runs, 40U);
    EXPECT_GE(shift->middle.shortest_ns, 1075U);
    EXPECT_LE(shift->middle.longest_ns, 1125U);
    EXPECT_EQ(shift->parts.front().reason, "disk") << "the greatest difference stands first";
    EXPECT_EQ(part_of(*shift, "blocked", "disk").slow_ns, 6000U);
    EXPECT_EQ(part_of(*shift, "blocked", "disk").middle_ns, 0U);
    EXPECT_EQ(part_of(*shift, "runnable", "").slow_ns, 500U);
    EXPECT_EQ(part_of(*shift, "runnable", "CPU quota").slow_ns, 1500U);
    EXPECT_EQ(part_of(*shift, "handed over", "").slow_ns, 300U);
    EXPECT_EQ(part_of(*shift, "unknown", "").slow_ns, 200U);
    std::uint64_t sum_ns = 0;
    for (const PartShift& part : shift->parts) sum_ns += part.slow_ns;
    EXPECT_EQ(sum_ns, shift->slow.mean_ns);
}

TEST(TimeShift, ARunCountsAsOftenAsItStandsFor) {
    std::vector<TimedDuration> runs;
    for (std::uint64_t i = 0; i < 30; ++i) runs.push_back(usual(100));
    runs.push_back(usual(400));
    runs.back().weight = 3;
    runs.push_back(usual(800));
    const auto shift = time_shift(runs);
    ASSERT_TRUE(shift);
    EXPECT_EQ(shift->middle.mean_ns, 100U);
    EXPECT_EQ(shift->slow.mean_ns, 800U);
    runs.back().weight = 1000;
    const auto heavy = time_shift(runs);
    ASSERT_TRUE(heavy);
    EXPECT_EQ(heavy->middle.mean_ns, 800U);
    EXPECT_EQ(heavy->slow.runs, 1000U) << "the slowest are always there";
}

TEST(TimeShift, OfFewRunsNothingIsSaid) {
    EXPECT_FALSE(time_shift({}));
    EXPECT_FALSE(time_shift(std::vector<TimedDuration>(shift_runs_needed - 1, usual(100))));
    EXPECT_TRUE(time_shift(std::vector<TimedDuration>(shift_runs_needed, usual(100))));
}

}  // namespace
}  // namespace lagtrap::server::reports::time_shift_test
