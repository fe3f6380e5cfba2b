#include "daemon/events/watch_signals.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::watch_signals_test {
namespace {

class WatchSignalsTest : public testing::Test {
  protected:
    lagtrap_watch page_{};
    WatchSignals signals_{page_};
};

TEST_F(WatchSignalsTest, ABreachIsTakenOnce) {
    EXPECT_FALSE(signals_.take_wanted());
    signals_.want_breach(true);
    EXPECT_EQ(page_.breach_wanted, 1U);
    EXPECT_TRUE(signals_.wants_breach());
    EXPECT_TRUE(signals_.take_wanted());
    EXPECT_FALSE(signals_.wants_breach());
    EXPECT_FALSE(signals_.take_wanted());
    signals_.stop_reports();
    EXPECT_EQ(page_.breach_wanted, 0U);
}

TEST_F(WatchSignalsTest, ABreachThatIsNotWantedIsNotReported) {
    signals_.want_breach(true);
    signals_.want_breach(false);
    EXPECT_EQ(page_.breach_wanted, 0U);
    EXPECT_FALSE(signals_.take_wanted());
}

TEST_F(WatchSignalsTest, RunsAreWrittenInEveryRecording) {
    using Recorded = WatchSignals::Recorded;
    EXPECT_EQ(signals_.recorded(), Recorded::No);
    for (const Recorded recorded : {Recorded::Early, Recorded::Yes, Recorded::No}) {
        signals_.record_runs(recorded);
        EXPECT_EQ(signals_.recorded(), recorded);
        EXPECT_EQ(page_.recording, recorded == Recorded::No ? 0U : 1U);
    }
}

TEST_F(WatchSignalsTest, WhatTheProgramsSaySinceTheLastCheckIsTakenOnce) {
    EXPECT_FALSE(signals_.has_begun());
    page_.begun_since_look = 1;
    EXPECT_TRUE(signals_.has_begun());
    EXPECT_TRUE(signals_.take_begun());
    EXPECT_FALSE(signals_.take_begun());
    signals_.want_look_at_all();
    EXPECT_EQ(page_.look_at_all, 1U);
    EXPECT_TRUE(signals_.take_look_at_all());
    EXPECT_FALSE(signals_.take_look_at_all());
    signals_.publish_next_look(77);
    EXPECT_EQ(page_.next_look_ns, 77U);
}

}  // namespace
}  // namespace lagtrap::daemon::watch_signals_test
