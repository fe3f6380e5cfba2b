#include "daemon/runs/open_batch.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

namespace lagtrap::daemon::open_batch_test {
namespace {

using namespace std::chrono_literals;

trace::RecordedRun run_of(std::uint32_t weight = 1, std::size_t stages = 0) {
    trace::RecordedRun run;
    run.weight = weight;
    run.stages.resize(stages);
    return run;
}

settings::Runs limits_of(std::uint64_t bytes) {
    settings::Runs limits;
    limits.batch_size_bytes = bytes;
    limits.batch_interval = 7ns;
    return limits;
}

TEST(OpenBatch, IsDueByTheAgeOfItsFirstRun) {
    OpenBatch batch;
    batch.lose(3);
    EXPECT_EQ(batch.due_ns(limits_of(1)), std::nullopt);
    batch.add(0, run_of(), 100);
    batch.add(0, run_of(), 200);
    EXPECT_EQ(batch.due_ns(limits_of(1)), 107U);
    (void)batch.close();
    EXPECT_EQ(batch.due_ns(limits_of(1)), std::nullopt);
    batch.add(0, run_of(), 300);
    EXPECT_EQ(batch.due_ns(limits_of(1)), 307U);
}

TEST(OpenBatch, CountsRunsThatAreNotInIt) {
    OpenBatch batch;
    EXPECT_FALSE(batch.add_weight(4, 2)) << "the event has no run";
    batch.add(4, run_of(5), 1);
    batch.add(4, run_of(), 1);
    batch.lose(10);
    EXPECT_EQ(batch.runs(), 16U);
    EXPECT_FALSE(batch.add_weight(3, 2));
    EXPECT_TRUE(batch.add_weight(4, 2));
    EXPECT_EQ(batch.runs(), 18U);
    EXPECT_FALSE(batch.add_weight(4, UINT32_MAX - 2));
    EXPECT_TRUE(batch.add_weight(4, UINT32_MAX - 3));
    batch.forget_events();
    EXPECT_FALSE(batch.add_weight(4, 1));
    const GatheredBatch closed = batch.close();
    ASSERT_EQ(closed.batch.runs.size(), 2U);
    EXPECT_EQ(closed.batch.runs[0].weight, 5U);
    EXPECT_EQ(closed.batch.runs[1].weight, UINT32_MAX);
    EXPECT_EQ(closed.batch.runs_sampled_away, std::uint64_t{4} + UINT32_MAX - 1);
    EXPECT_EQ(closed.batch.runs_lost, 10U);
    EXPECT_EQ(batch.runs(), 0U);
    EXPECT_FALSE(batch.add_weight(4, 1)) << "its run is in the closed batch";
}

TEST(OpenBatch, IsFullOfBytesRunsStacksOrFrames) {
    OpenBatch batch;
    batch.add(0, run_of(1, 2), 1);
    EXPECT_TRUE(batch.full(limits_of(108))) << "80 and 14 for each stage";
    EXPECT_FALSE(batch.full(limits_of(109)));
    EXPECT_EQ(batch.add_stack(trace::RunStack(10)), 1U);
    EXPECT_EQ(batch.add_stack({}), 2U);
    EXPECT_TRUE(batch.full(limits_of(348))) << "24 for each frame";
    EXPECT_FALSE(batch.full(limits_of(349)));
    (void)batch.add_stack(trace::RunStack(40'000 - 11));
    EXPECT_FALSE(batch.full(limits_of(UINT64_MAX)));
    (void)batch.add_stack(trace::RunStack(1));
    EXPECT_TRUE(batch.full(limits_of(UINT64_MAX)));
    (void)batch.close();
    for (int i = 1; i < 5'000; ++i) (void)batch.add_stack({});
    EXPECT_FALSE(batch.full(limits_of(UINT64_MAX)));
    (void)batch.add_stack({});
    EXPECT_TRUE(batch.full(limits_of(UINT64_MAX)));
    (void)batch.close();
    for (std::size_t i = 1; i < trace::run_batch_runs_limit; ++i) batch.add(0, run_of(), 1);
    EXPECT_FALSE(batch.full(limits_of(UINT64_MAX)));
    batch.add(0, run_of(), 1);
    EXPECT_TRUE(batch.full(limits_of(UINT64_MAX)));
}

TEST(OpenBatch, HasAModuleOnceIfAskedTo) {
    OpenBatch batch;
    const trace::RecordedModule module{"/app", "b1", 0, 0, 0, {}};
    batch.add_module_once(module);
    batch.add_module_once(module);
    batch.add_module_once({"/app", "b2", 0, 0, 0, {}});
    batch.add_module(module);
    EXPECT_EQ(batch.close().modules.size(), 3U);
    EXPECT_TRUE(batch.close().modules.empty());
}

}  // namespace
}  // namespace lagtrap::daemon::open_batch_test
