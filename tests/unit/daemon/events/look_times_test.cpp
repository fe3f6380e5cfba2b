#include "daemon/events/look_times.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::look_times_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t now_ns = 5'000 * ms;

settings::Event event_of(std::chrono::nanoseconds threshold, settings::BreachMode breach) {
    settings::Event event;
    event.threshold = threshold;
    event.breach = breach;
    return event;
}

TEST(LookTimes, OnlyEventsWithADeadlineHaveOne) {
    using settings::BreachMode;
    std::vector<settings::Event> events{event_of(50ms, BreachMode::Deadline),
                                        event_of(1ms, BreachMode::End),
                                        event_of(20ms, BreachMode::Deadline)};
    DeadlineThresholds thresholds(events);
    EXPECT_EQ(thresholds.smallest_ns(), 20 * ms);
    thresholds.set(2, 80ms);
    EXPECT_EQ(thresholds.smallest_ns(), 50 * ms) << "those in force";
    thresholds.set(1, 1ms);
    EXPECT_EQ(thresholds.smallest_ns(), 50 * ms);
    events.resize(2);
    events[0].breach = BreachMode::End;
    EXPECT_EQ(DeadlineThresholds(events).smallest_ns(), LAGTRAP_NEVER_NS);
    events.clear();
    EXPECT_EQ(DeadlineThresholds(events).smallest_ns(), LAGTRAP_NEVER_NS);
}

TEST(LookTimes, EarlyRunsAreCheckedAfterAMillisecondAtTheSoonest) {
    EXPECT_EQ(age_to_look_ns(10), ms);
    EXPECT_EQ(age_to_look_ns(7 * ms), 7 * ms);
    EXPECT_EQ(age_to_look_ns(LAGTRAP_NEVER_NS), LAGTRAP_NEVER_NS);
}

TEST(LookTimes, PassesTakeAHundredthOfTheTime) {
    EXPECT_EQ(next_pass_ns(now_ns, now_ns + 50'000), now_ns + 50'000 + 5 * ms);
    EXPECT_EQ(next_pass_ns(now_ns, now_ns + 1), now_ns + 1 + ms);
    EXPECT_EQ(next_pass_ns(now_ns, now_ns + 5 * ms), now_ns + 25 * ms);
}

TEST(LookTimes, SweepsTakeAHundredthOfTheTime) {
    EXPECT_EQ(pause_after_sweep(1us, true), 1s);
    EXPECT_EQ(pause_after_sweep(1us, false), 1ms);
    EXPECT_EQ(pause_after_sweep(50us, false), 5ms);
    EXPECT_EQ(pause_after_sweep(20ms, true), 2s);
}

// Nothing is open, and no event has a deadline or an early point.
class NextLook : public testing::Test {
  protected:
    NextLook() {
        times_.now_ns = now_ns;
        times_.smallest_threshold_ns = LAGTRAP_NEVER_NS;
        times_.early_interval_ns = 10 * ms;
        times_.early_points_ns = {LAGTRAP_NEVER_NS};
    }
    std::uint64_t next() { return next_look_ns(seen_, times_); }

    OpenRuns::Look seen_;
    LookTimes times_;
};

TEST_F(NextLook, NoneWhileNothingIsOpen) {
    times_.smallest_threshold_ns = 100 * ms;
    EXPECT_EQ(next(), LAGTRAP_NEVER_NS);
    times_.has_begun = true;
    EXPECT_EQ(next(), now_ns + 100 * ms);
    times_.has_begun = false;
    times_.early_is_on = true;
    EXPECT_EQ(next(), now_ns + 10 * ms);
    times_.early_is_on = false;
    seen_.visited = 1;
    EXPECT_EQ(next(), now_ns + 100 * ms);
    seen_.visited = 0;
    seen_.next_due_ns = now_ns + 30 * ms;
    EXPECT_EQ(next(), now_ns + 30 * ms);
}

TEST_F(NextLook, AtTheFirstDeadlineOrDueRun) {
    seen_.visited = 1;
    EXPECT_EQ(next(), LAGTRAP_NEVER_NS) << "no deadline";
    seen_.earliest_deadline_ns = now_ns + 40 * ms;
    EXPECT_EQ(next(), now_ns + 40 * ms);
    seen_.next_due_ns = now_ns + 30 * ms;
    EXPECT_EQ(next(), now_ns + 30 * ms);
    times_.smallest_threshold_ns = 20 * ms;
    EXPECT_EQ(next(), now_ns + 20 * ms) << "a run may begin now";
}

TEST_F(NextLook, EarlyPointsWaitForTheInterval) {
    seen_.visited = 1;
    seen_.next_early_ns = now_ns + 25 * ms;
    EXPECT_EQ(next(), now_ns + 25 * ms);
    seen_.next_early_ns = now_ns + 3 * ms;
    EXPECT_EQ(next(), now_ns + 10 * ms);
    seen_.next_early_ns = LAGTRAP_NEVER_NS;
    times_.early_points_ns = {LAGTRAP_NEVER_NS, 60 * ms, 15 * ms};
    EXPECT_EQ(next(), now_ns + 15 * ms);
    seen_.earliest_deadline_ns = now_ns + 4 * ms;
    EXPECT_EQ(next(), now_ns + 4 * ms) << "deadlines do not wait";
}

TEST_F(NextLook, NotBeforeThePassHasRested) {
    seen_.visited = 1;
    seen_.earliest_deadline_ns = now_ns + 4 * ms;
    times_.not_before_ns = now_ns + 6 * ms;
    EXPECT_EQ(next(), now_ns + 6 * ms);
    seen_.earliest_deadline_ns = LAGTRAP_NEVER_NS;
    EXPECT_EQ(next(), LAGTRAP_NEVER_NS);
}

TEST(LookTimes, TheLongestOverdueRunIsReported) {
    std::vector<lagtrap_run> overdue(3);
    overdue[0].begin_ns = 30;
    overdue[1].begin_ns = 10;
    overdue[2].begin_ns = 20;
    EXPECT_EQ(&longest_overdue(overdue), &overdue[1]);
}

// The event has a thousand begins.
class Beliefs : public testing::Test {
  protected:
    Beliefs() { counters_.markers[LAGTRAP_PLACE_BEGIN].hits = 1'000; }
    bool believes(std::uint64_t at_ns, std::uint32_t event = 0) {
        return beliefs_.believes(
            event, at_ns,
            [&](std::uint32_t asked) -> Result<EventCounters> {
                EXPECT_EQ(asked, event);
                ++asked_;
                if (!readable_) return make_error(ErrorKind::System, "no map");
                return counters_;
            },
            [&](std::uint32_t) { return OpenRuns::Counts{}; });
    }
    DeadlineBeliefs beliefs_{1};
    EventCounters counters_;
    bool readable_ = true;
    int asked_ = 0;
};

TEST_F(Beliefs, LastASecondOnceThereIsExperience) {
    counters_.markers[LAGTRAP_PLACE_END].hits = 1'000;
    EXPECT_TRUE(believes(now_ns));
    counters_.markers[LAGTRAP_PLACE_END].hits = 0;
    EXPECT_TRUE(believes(now_ns + 1'000 * ms - 1));
    EXPECT_EQ(asked_, 1);
    EXPECT_FALSE(believes(now_ns + 1'000 * ms)) << "no end was seen";
    EXPECT_EQ(asked_, 2);
}

TEST_F(Beliefs, WithoutAnyEndEachCheckJudgesAnew) {
    EXPECT_FALSE(believes(now_ns));
    EXPECT_FALSE(believes(now_ns)) << "the same check";
    EXPECT_EQ(asked_, 1);
    counters_.markers[LAGTRAP_PLACE_END].hits = 1'000;
    EXPECT_TRUE(believes(now_ns + 1));
    EXPECT_EQ(asked_, 2);
}

TEST_F(Beliefs, WhatIsUnknownIsBelieved) {
    readable_ = false;
    EXPECT_TRUE(believes(now_ns));
    EXPECT_TRUE(believes(now_ns, 1));
    EXPECT_EQ(asked_, 1);
}

}  // namespace
}  // namespace lagtrap::daemon::look_times_test
