#include "daemon/runs/batch_writer.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::daemon::batch_writer_test {
namespace {

GatheredBatch batch_of(std::size_t runs) {
    GatheredBatch gathered;
    gathered.batch.batch_id = "00000000-0000-4000-8000-000000000000";
    gathered.batch.host = "host";
    gathered.batch.boot_id = "00000000-0000-4000-8000-000000000001";
    gathered.batch.runs.resize(runs);
    for (trace::RecordedRun& run : gathered.batch.runs) run.event = "event";
    return gathered;
}

class ABatchWriter : public testing::Test {
  protected:
    ~ABatchWriter() override { std::filesystem::remove_all(folder_); }

    // What became of the batches.
    BatchTotals put(std::size_t batches, std::size_t runs) {
        auto spool = spool::Spool::create(folder_);
        EXPECT_TRUE(spool) << spool.error().message;
        BatchWriter writer(
            *spool, Log([](Log::Level, const std::string& problem) { ADD_FAILURE() << problem; }));
        for (std::size_t i = 0; i < batches; ++i) writer.put(batch_of(runs));
        writer.wait_until_idle();
        return writer.totals();
    }

  private:
    const std::string folder_ = testing::TempDir() + "batch-writer-" + std::to_string(::getpid());
};

// They come faster than the disk takes them, but need little memory.
TEST_F(ABatchWriter, KeepsManySmallBatches) {
    const BatchTotals totals = put(100, 3);
    EXPECT_EQ(totals.failed, 0U);
    EXPECT_EQ(totals.written, 100U);
    EXPECT_EQ(totals.written_runs, 300U);
}

}  // namespace
}  // namespace lagtrap::daemon::batch_writer_test
