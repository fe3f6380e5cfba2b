#include "analysis/cpu_holders.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::cpu_holders_test {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t begin = TraceBuilder::begin_ns;

// 10 waits for CPU 0 from 10 to 40 ms.
TEST(CpuHolders, AProcessIsShownWithTheThreadThatRanLongest) {
    TraceBuilder builder(100 * ms);
    builder.process(10, "app").thread(10, 10, "app");
    builder.process(20, "batch")
        .thread(20, 20, "batch")
        .thread(20, 21, "long")
        .thread(20, 22, "short");
    builder.switched(1 * ms, 0, 0, 0, 10)
        .switched(10 * ms, 0, 10, 0, 21)
        .switched(30 * ms, 0, 21, 1, 22)
        .switched(40 * ms, 0, 22, 1, 10);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const CpuWaits waits = cpu_waits_of(
        *recording, intervals_of_thread(*recording, 10, {begin + ms, begin + 50 * ms}));
    EXPECT_EQ(waits.time_ns, 30 * ms);
    ASSERT_EQ(waits.holders.size(), 1U);
    EXPECT_EQ(waits.holders[0].process, "batch");
    EXPECT_EQ(waits.holders[0].threads, 2U);
    EXPECT_EQ(waits.holders[0].time_ns, 30 * ms);
    EXPECT_EQ(waits.holders[0].tid, 21U);
    EXPECT_EQ(waits.holders[0].thread, "long");
}

}  // namespace
}  // namespace lagtrap::analysis::cpu_holders_test
