#include "daemon/runs/waiting_batches.hpp"

#include <cstddef>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::daemon::waiting_batches_test {
namespace {

GatheredBatch batch_of(std::size_t runs, const std::string& host = "host") {
    GatheredBatch gathered;
    gathered.batch.host = host;
    gathered.batch.runs.resize(runs);
    gathered.modules.resize(1);
    return gathered;
}

WaitingBatches with(std::size_t batches, std::size_t runs) {
    WaitingBatches waiting;
    for (std::size_t i = 0; i < batches; ++i) waiting.put(batch_of(runs));
    return waiting;
}

TEST(WaitingBatches, AreFullOfManyBatchesWithManyRuns) {
    constexpr std::size_t share = trace::run_batch_runs_limit / 16;
    EXPECT_FALSE(with(200, 3).full());
    EXPECT_FALSE(with(15, share * 2).full());
    EXPECT_FALSE(with(16, share - 1).full());
    WaitingBatches waiting = with(17, share);
    EXPECT_TRUE(waiting.full());
    (void)waiting.take();
    EXPECT_TRUE(waiting.full());
    (void)waiting.take();
    EXPECT_FALSE(waiting.full());
}

TEST(WaitingBatches, AreTakenInOrderAndIdleWhenTheLastIsWritten) {
    WaitingBatches waiting;
    EXPECT_TRUE(waiting.idle());
    waiting.put(batch_of(1, "first"));
    waiting.put(batch_of(1, "second"));
    EXPECT_EQ(waiting.take().batch.host, "first");
    waiting.finish();
    EXPECT_FALSE(waiting.idle());
    EXPECT_EQ(waiting.take().batch.host, "second");
    EXPECT_TRUE(waiting.empty());
    EXPECT_FALSE(waiting.idle());
    waiting.finish();
    EXPECT_TRUE(waiting.idle());
}

TEST(WaitingBatches, KeepNamelessFramesIfThereIsNoTime) {
    WaitingBatches waiting = with(10, 1);
    EXPECT_TRUE(waiting.take().modules.empty()) << "nine more wait";
    EXPECT_EQ(waiting.take().modules.size(), 1U);
    EXPECT_FALSE(waiting.ending());
    waiting.end();
    EXPECT_TRUE(waiting.ending());
    EXPECT_TRUE(waiting.take().modules.empty());
}

}  // namespace
}  // namespace lagtrap::daemon::waiting_batches_test
