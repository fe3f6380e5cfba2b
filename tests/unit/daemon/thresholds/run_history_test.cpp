#include "daemon/thresholds/run_history.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::run_history_test {
namespace {

constexpr std::uint64_t hour = RunHistory::hour_ns;
constexpr std::uint64_t now = 500'000 * hour + hour / 4;

RunHistogram runs_of(std::initializer_list<BucketCount> counts) {
    RunHistogram runs{};
    for (const BucketCount& count : counts) runs[count.bucket] = count.runs;
    return runs;
}

TEST(RunHistory, KeepsDifferencesByHour) {
    RunHistory history;
    EXPECT_EQ(history.note("a", "1", runs_of({{80, 3}}), now), runs_of({{80, 3}}));
    EXPECT_EQ(history.note("a", "1", runs_of({{80, 5}, {90, 1}}), now + 1),
              runs_of({{80, 2}, {90, 1}}));
    EXPECT_EQ(history.note("a", "1", runs_of({{80, 5}, {90, 1}}), now + hour), RunHistogram{});
    EXPECT_EQ(history.note("a", "1", runs_of({{80, 6}, {90, 1}}), now + 2 * hour),
              runs_of({{80, 1}}));
    const EventRuns expected{"1", now, {{500'000, {{80, 5}, {90, 1}}}, {500'002, {{80, 1}}}}};
    ASSERT_NE(history.of("a"), nullptr);
    EXPECT_EQ(*history.of("a"), expected);
    EXPECT_EQ(history.of("a")->sum(0), runs_of({{80, 6}, {90, 1}}));
    EXPECT_EQ(history.of("a")->sum(now + hour), runs_of({{80, 1}}));
    EXPECT_EQ(history.of("b"), nullptr);
}

TEST(RunHistory, ContinuesWhenCountingBeginsAnew) {
    RunHistory history;
    (void)history.note("a", "1", runs_of({{80, 3}}), now);
    EXPECT_EQ(history.note("a", "1", runs_of({{80, 2}}), now), runs_of({{80, 2}}));
    EXPECT_EQ(history.of("a")->sum(0), runs_of({{80, 5}}));
    RunHistory next(history.events(), now);
    (void)next.note("a", "1", runs_of({{80, 4}}), now);
    EXPECT_EQ(next.of("a")->sum(0), runs_of({{80, 9}}));
}

TEST(RunHistory, RunsOfOtherMarkersAreAnotherHistory) {
    RunHistory history;
    (void)history.note("a", "1", runs_of({{80, 3}}), now);
    EXPECT_EQ(history.note("a", "2", runs_of({{80, 4}}), now + 5), RunHistogram{})
        << "the daemon counts both together";
    EXPECT_EQ(*history.of("a"), (EventRuns{"2", now + 5, {}}));
    EXPECT_EQ(history.note("a", "2", runs_of({{80, 6}}), now + 6), runs_of({{80, 2}}));
}

TEST(RunHistory, ForgetsWhatIsOld) {
    RunHistory history;
    (void)history.note("a", "1", runs_of({{80, 3}}), now);
    (void)history.note("a", "1", runs_of({{80, 4}}), now + RunHistory::hours_kept * hour);
    history.forget_old(now + RunHistory::hours_kept * hour);
    EXPECT_EQ(history.of("a")->sum(0), runs_of({{80, 1}}));
    history.forget_old(now + 3 * RunHistory::hours_kept * hour);
    EXPECT_EQ(history.of("a"), nullptr);
}

TEST(RunHistory, IsBounded) {
    RunHistory history;
    RunHistogram all{};
    for (std::uint64_t step = 0; step < RunHistory::hours_kept; ++step) {
        for (auto& count : all) ++count;
        for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
            (void)history.note(name, "1", all, now + step * hour);
        history.forget_old(now + step * hour);
    }
    std::size_t buckets = 0;
    for (const auto& [name, event] : history.events())
        for (const HourOfRuns& one : event.hours) buckets += one.buckets.size();
    EXPECT_LE(buckets, RunHistory::buckets_kept);
    EXPECT_GT(buckets, RunHistory::buckets_kept - 10 * LAGTRAP_HISTOGRAM_BUCKETS);
    EXPECT_EQ(history.of("a")->hours.back().hour, now / hour + RunHistory::hours_kept - 1)
        << "the oldest are dropped";
}

TEST(RunHistory, MovesWithTheClock) {
    RunHistory history;
    (void)history.note("a", "1", runs_of({{80, 3}}), now);
    history.move(static_cast<std::int64_t>(10 * hour));
    EXPECT_EQ(history.of("a")->hours.front().hour, 500'010U);
    history.move(-static_cast<std::int64_t>(10 * hour));
    EXPECT_EQ(history.of("a")->hours.front().hour, 500'000U);
    EXPECT_EQ(history.of("a")->since_ns, now);
    // The clock goes back a little: the hours stay in order.
    (void)history.note("a", "1", runs_of({{80, 4}}), now - hour / 2);
    EXPECT_EQ(history.of("a")->hours.size(), 1U);
    // A machine without a clock starts in the past.
    const RunHistory restarted(history.events(), 3 * hour);
    EXPECT_EQ(restarted.of("a")->hours.front().hour, 3U);
    EXPECT_EQ(restarted.of("a")->sum(0), runs_of({{80, 4}}));
}

}  // namespace
}  // namespace lagtrap::daemon::run_history_test
