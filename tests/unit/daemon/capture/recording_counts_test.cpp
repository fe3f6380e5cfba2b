#include "daemon/capture/recording_counts.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::recording_counts_test {
namespace {

TEST(RecordingCounts, ARecordingHasWhatWasCountedSinceItsBegin) {
    RecordingCounts before, after;
    before.records.samples = 100;
    before.records.samples_lost = 1;
    before.records.switches_lost = 2;
    before.records.wakings_lost = 3;
    before.records.stacks_lost = 4;
    before.records.threads_lost = 5;
    before.runs_lost = 6;
    before.task_changes_lost = 7;
    after.records.samples = 1'100;
    after.records.samples_lost = 11;
    after.records.switches_lost = 22;
    after.records.wakings_lost = 33;
    after.records.stacks_lost = 44;
    after.records.threads_lost = 55;
    after.runs_lost = 66;
    after.task_changes_lost = 77;
    trace::SessionQuality quality;
    quality.stack_copies = 9;
    after.report_since(before, quality);
    EXPECT_EQ(quality.samples_taken, 1'000U);
    EXPECT_EQ(quality.samples_lost, 10U);
    EXPECT_EQ(quality.switches_lost, 20U);
    EXPECT_EQ(quality.wakings_lost, 30U);
    EXPECT_EQ(quality.stacks_lost, 40U);
    EXPECT_EQ(quality.runs_lost, 60U);
    // Threads and changes of processes.
    EXPECT_EQ(quality.task_changes_lost, 50U + 70U);
    EXPECT_EQ(quality.stack_copies, 9U);
}

TEST(RecordingCounts, CostIsTheTimeSinceItsBegin) {
    trace::SessionQuality quality;
    RecordingTimes{500, 90}.report_since({200, 40}, quality);
    EXPECT_EQ(quality.bpf_run_time_ns, 300U);
    EXPECT_EQ(quality.daemon_cpu_ns, 50U);
}

}  // namespace
}  // namespace lagtrap::daemon::recording_counts_test
