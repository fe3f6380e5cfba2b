#include "daemon/runs/report_pace.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::report_pace_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

TEST(ReportPace, ManyRunsAtOnceComeFast) {
    ReportPace pace;
    EXPECT_FALSE(pace.runs_come_fast(3, false, 1'000 * ms));
    EXPECT_TRUE(pace.runs_come_fast(4, false, 2'000 * ms));
    EXPECT_FALSE(pace.runs_come_fast(0, false, 2'000 * ms));
}

TEST(ReportPace, RunsInQuickSuccessionComeFast) {
    ReportPace pace;
    EXPECT_FALSE(pace.runs_come_fast(1, false, 1'000 * ms));
    EXPECT_FALSE(pace.runs_come_fast(1, false, 1'000 * ms + 500'000));
    EXPECT_TRUE(pace.runs_come_fast(1, false, 1'000 * ms + 999'999));
    EXPECT_FALSE(pace.runs_come_fast(0, false, 1'001 * ms)) << "nothing came";
    EXPECT_TRUE(pace.runs_come_fast(1, false, 1'001 * ms + 1)) << "the last read counts";
}

TEST(ReportPace, RunsThatAreWantedImmediatelyNeverAccumulate) {
    ReportPace pace;
    EXPECT_FALSE(pace.runs_come_fast(100, true, 1'000 * ms));
    EXPECT_TRUE(pace.runs_come_fast(1, false, 1'000 * ms + 1));
}

TEST(ReportPace, WaitsUntilTheBatchIsDue) {
    EXPECT_EQ(ReportPace::wait_ms(std::nullopt, false, 50 * ms), -1);
    EXPECT_EQ(ReportPace::wait_ms(50 * ms, false, 50 * ms), 0);
    EXPECT_EQ(ReportPace::wait_ms(40 * ms, false, 50 * ms), 0);
    EXPECT_EQ(ReportPace::wait_ms(50 * ms + 1, false, 50 * ms), 1) << "not before it is due";
    EXPECT_EQ(ReportPace::wait_ms(60 * ms, false, 50 * ms), 11);
    EXPECT_EQ(ReportPace::wait_ms(7'200'000 * ms, false, 50 * ms), 60'000);
}

TEST(ReportPace, RunsAccumulateForTwoMillisecondsAtMost) {
    EXPECT_EQ(ReportPace::wait_ms(std::nullopt, true, 50 * ms), 2);
    EXPECT_EQ(ReportPace::wait_ms(60 * ms, true, 50 * ms), 2);
    EXPECT_EQ(ReportPace::wait_ms(51 * ms, true, 50 * ms), 2);
    EXPECT_EQ(ReportPace::wait_ms(50 * ms + 1, true, 50 * ms), 1);
    EXPECT_EQ(ReportPace::wait_ms(50 * ms, true, 50 * ms), 0);
}

TEST(BatchSession, TheBatchDuringWhichARecordingEndsStillBelongsToIt) {
    BatchSession session;
    EXPECT_EQ(session.of_batch(), "");
    session.note("S1");
    session.next();
    EXPECT_EQ(session.of_batch(), "S1") << "it goes on";
    session.note("");
    EXPECT_EQ(session.of_batch(), "S1");
    session.next();
    EXPECT_EQ(session.of_batch(), "");
    session.next();
    EXPECT_EQ(session.of_batch(), "");
}

TEST(BatchSession, TheNextRecordingReplacesOneThatEnded) {
    BatchSession session;
    session.note("S1");
    session.note("");
    session.note("S2");
    EXPECT_EQ(session.of_batch(), "S2");
    session.next();
    EXPECT_EQ(session.of_batch(), "S2");
}

TEST(ReportPace, OnlySoManyAbortedRunsWait) {
    EXPECT_TRUE(has_room_for_aborted(0, 16'384));
    EXPECT_TRUE(has_room_for_aborted(16'000, 384));
    EXPECT_FALSE(has_room_for_aborted(16'000, 385));
}

}  // namespace
}  // namespace lagtrap::daemon::report_pace_test
