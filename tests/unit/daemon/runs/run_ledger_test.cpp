#include "daemon/runs/run_ledger.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::run_ledger_test {
namespace {

TEST(RunLedger, RunsAreUnwrittenUntilABatchHasThem) {
    RunLedger ledger;
    ledger.gathered(3);
    EXPECT_EQ(ledger.unwritten(), 3U);
    ledger.gathered(5);
    EXPECT_EQ(ledger.unwritten(), 5U);
    ledger.waits(5);
    EXPECT_EQ(ledger.unwritten(), 5U);
    ledger.gathered(2);
    EXPECT_EQ(ledger.unwritten(), 7U);
    ledger.written(5, 4, 100);
    EXPECT_EQ(ledger.unwritten(), 2U);
    EXPECT_EQ(ledger.totals().written, 1U);
    EXPECT_EQ(ledger.totals().written_runs, 4U);
    EXPECT_EQ(ledger.totals().written_bytes, 100U);
    EXPECT_EQ(ledger.totals().lost_runs, 0U);
}

TEST(RunLedger, LostRunsAreUnwrittenUntilABatchReportsThem) {
    RunLedger ledger;
    ledger.lost(4);
    EXPECT_EQ(ledger.unwritten(), 4U);
    EXPECT_EQ(ledger.take_lost(), 4U);
    EXPECT_EQ(ledger.unwritten(), 0U);
    EXPECT_EQ(ledger.take_lost(), 0U);
    EXPECT_EQ(ledger.totals().lost_runs, 4U);
    EXPECT_EQ(ledger.totals().failed, 0U);
}

TEST(RunLedger, ABatchThatFailsOrFindsNoRoomIsLost) {
    RunLedger ledger;
    ledger.gathered(6);
    ledger.dropped(6);
    EXPECT_EQ(ledger.totals().failed, 1U);
    EXPECT_EQ(ledger.unwritten(), 6U);
    ledger.gathered(2);
    ledger.waits(2);
    ledger.failed(2);
    EXPECT_EQ(ledger.totals().failed, 2U);
    EXPECT_EQ(ledger.totals().lost_runs, 8U);
    EXPECT_EQ(ledger.totals().written, 0U);
    EXPECT_EQ(ledger.take_lost(), 8U);
    EXPECT_EQ(ledger.unwritten(), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::run_ledger_test
