#include <random>

#include <gtest/gtest.h>

#include "analysis/before_recording.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::before_recording_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t begin = TraceBuilder::begin_ns;

// Thread 10 runs until 10 ms and then waits for a lock until the recording ends at 30 ms.
Recording recorded() {
    TraceBuilder builder(30 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    builder.switched(10 * ms, 0, 10, 1, 0)
        .off_cpu(10 * ms, 10, 10, {"main", "lock", "k:futex_wait", "k:schedule"});
    return builder.decode().value();
}

// A run that began 40 ms before the recording and ended with it.
trace::Delay delay_before() {
    trace::Delay delay;
    delay.begin_ns = begin - 40 * ms;
    delay.duration_ns = 70 * ms;
    delay.begin_pid = delay.begin_tid = delay.end_pid = delay.end_tid = 10;
    return delay;
}

trace::RunSoFar counts() {
    trace::RunSoFar known;
    known.tid = 10;
    known.until_offset_ns = 45 * ms;  // 5 ms of it are recorded
    known.on_cpu_ns = (12 + 5) * ms;
    known.runnable_ns = 3 * ms;
    known.throttled_ns = 1 * ms;
    known.blocked_ns[LAGTRAP_WAIT_LOCK] = 20 * ms;
    known.blocked_ns[LAGTRAP_WAIT_SLEEP] = 5 * ms;
    known.waits = {{5 * ms, 20 * ms, LAGTRAP_WAIT_LOCK}};
    return known;
}

std::uint64_t blocked_for(const TimeSplit& split, const std::string& reason) {
    for (const BlockedTime& blocked : split.blocked)
        if (blocked.reason == reason) return blocked.total_ns;
    return 0;
}

TEST(BeforeRecording, IsUnknownWithoutCounts) {
    const auto recording = recorded();
    const auto split = split_time(recording, intervals_of_delay(recording, delay_before()));
    EXPECT_EQ(split.outside_ns, 40 * ms);
    EXPECT_EQ(split.counted.total_ns(), 0U);
}

TEST(BeforeRecording, HasTheSumsOfTheCounts) {
    const auto recording = recorded();
    trace::Delay delay = delay_before();
    delay.so_far = counts();
    const auto split = split_time(recording, intervals_of_delay(recording, delay));
    EXPECT_EQ(split.wall_ns, 70 * ms);
    EXPECT_EQ(split.not_recorded_ns, 0U);
    EXPECT_NEAR(static_cast<double>(split.on_cpu_ns), static_cast<double>((12 + 10) * ms), 10);
    EXPECT_NEAR(static_cast<double>(split.runnable_ns), static_cast<double>(3 * ms), 10);
    EXPECT_NEAR(static_cast<double>(split.throttled_ns), static_cast<double>(1 * ms), 10);
    EXPECT_NEAR(static_cast<double>(blocked_for(split, "lock (futex)")),
                static_cast<double>((20 + 20) * ms), 10);
    EXPECT_NEAR(static_cast<double>(blocked_for(split, "sleep")), static_cast<double>(5 * ms), 10);
    EXPECT_EQ(split.counted.total_ns(), 40 * ms);
    EXPECT_EQ(split.recorded_ns(), 30 * ms) << "of which functions have shares";
}

TEST(BeforeRecording, ALongWaitStandsWhereItWas) {
    const auto recording = recorded();
    trace::Delay delay = delay_before();
    delay.so_far = counts();
    bool found = false;
    for (const Interval& interval : intervals_of_delay(recording, delay))
        found = found ||
                (interval.state == ThreadState::Blocked && interval.begin_ns == begin - 35 * ms &&
                 interval.end_ns == begin - 15 * ms && interval.queue == "lock (futex)");
    EXPECT_TRUE(found);
}

// The longest wait was reported with its place. A wait that is not among the longest gets its place
// too.
TEST(BeforeRecording, WaitsThatWereToldHaveTheirStacksAndWakers) {
    TraceBuilder builder(30 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "holder");
    builder.earlier_wait(15 * ms, 20 * ms, 10, 10, 11,
                         {"main", "lock", "k:futex_wait", "k:schedule"});
    builder.earlier_wait(5 * ms, 4 * ms, 10, 10, 11,
                         {"main", "doze", "k:hrtimer_nanosleep", "k:schedule"});
    builder.switched(10 * ms, 0, 10, 1, 0)
        .off_cpu(10 * ms, 10, 10, {"main", "lock", "k:futex_wait", "k:schedule"});
    const Recording recording = builder.decode().value();
    trace::Delay delay = delay_before();
    delay.so_far = counts();
    const auto intervals = intervals_of_delay(recording, delay);
    std::vector<const Interval*> reported;
    for (const Interval& interval : intervals)
        if (interval.stack != 0 && interval.end_ns <= begin) reported.push_back(&interval);
    ASSERT_EQ(reported.size(), 2U);
    EXPECT_EQ(reported[0]->begin_ns, begin - 35 * ms);
    EXPECT_EQ(reported[0]->length_ns(), 20 * ms);
    EXPECT_EQ(reported[0]->waker_tid, 11U);
    EXPECT_FALSE(reported[0]->counted);
    EXPECT_EQ(reported[1]->begin_ns, begin - 9 * ms);
    const auto split = split_time(recording, intervals);
    EXPECT_EQ(split.not_recorded_ns, 0U);
    EXPECT_EQ(split.on_cpu_ns + split.runnable_ns + split.blocked_ns, 70 * ms);
    EXPECT_NEAR(static_cast<double>(blocked_for(split, "lock (futex)")),
                static_cast<double>((20 + 20) * ms), 10);
    EXPECT_NEAR(static_cast<double>(blocked_for(split, "sleep")), static_cast<double>(5 * ms), 10);
    EXPECT_NEAR(static_cast<double>(split.counted.blocked_ns), static_cast<double>(1 * ms), 10)
        << "of the sleep, the rest";
}

TEST(BeforeRecording, AWaitThatGoesOnIsOneWithItsRecordedRest) {
    TraceBuilder builder(30 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app");
    builder.off_cpu(0, 10, 10, {"main", "lock", "k:futex_wait", "k:schedule"});
    builder.waking(20 * ms, 1, 11, 10).switched(20 * ms, 0, 0, 0, 10);
    const Recording recording = builder.decode().value();
    trace::Delay delay = delay_before();
    delay.so_far.tid = 10;
    delay.so_far.until_offset_ns = 42 * ms;
    delay.so_far.on_cpu_ns = 20 * ms;
    delay.so_far.blocked_ns[LAGTRAP_WAIT_LOCK] = 22 * ms;
    delay.so_far.waits = {{20 * ms, 22 * ms, LAGTRAP_WAIT_LOCK}};
    const auto intervals = intervals_of_delay(recording, delay);
    ASSERT_EQ(intervals.size(), 3U);
    EXPECT_EQ(intervals[1].begin_ns, begin - 20 * ms);
    EXPECT_EQ(intervals[1].end_ns, begin + 20 * ms);
    EXPECT_NE(intervals[1].stack, 0U) << "where it waits is recorded";
    EXPECT_FALSE(intervals[1].counted);
}

TEST(BeforeRecording, AWaitThatEndedHasItsWaker) {
    const auto recording = recorded();
    trace::Delay delay = delay_before();
    delay.so_far = counts();
    trace::RunSoFar::Wait& wait = delay.so_far.waits[0];
    const auto shown = [&] {
        for (const Interval& interval : intervals_of_delay(recording, delay))
            if (interval.begin_ns == begin - 35 * ms) return interval;
        return Interval();
    };
    EXPECT_FALSE(shown().woken);
    wait.waker = LAGTRAP_WAKER_THREAD;
    wait.waker_tid = 77;
    EXPECT_TRUE(shown().woken);
    EXPECT_EQ(shown().waker_tid, 77U);
    EXPECT_FALSE(shown().by_interrupt);
    wait.waker = LAGTRAP_WAKER_SOFTIRQ;
    EXPECT_TRUE(shown().by_interrupt);
    EXPECT_EQ(shown().waker_tid, 0U) << "an interrupt hits any thread";
    wait.wait_class = LAGTRAP_WAIT_SLEEP;
    wait.waker = LAGTRAP_WAKER_INTERRUPT;
    EXPECT_EQ(shown().wake_cause, WakeCause::Timeout);
}

// A thread that ended as the recording began is in it, but without a name.
TEST(BeforeRecording, WhoEndedAWaitHasItsNameOfThenWhereTheRecordingHasNone) {
    auto recording = recorded();
    trace::Delay delay = delay_before();
    delay.so_far = counts();
    trace::RunSoFar::Wait& wait = delay.so_far.waits[0];
    wait.waker = LAGTRAP_WAKER_THREAD;
    wait.waker_pid = 76;
    wait.waker_tid = 77;
    wait.waker_thread = "child";
    EXPECT_EQ(name_thread(recording, delay, 77).thread, "child");
    Thread& ended = recording.threads.emplace_back();
    ended.tid = 77;
    EXPECT_EQ(name_thread(recording, delay, 77).thread, "child");
    EXPECT_EQ(name_thread(recording, delay, 77).pid, 76U);
    recording.names.emplace_back("recorded");
    ended.name = static_cast<NameId>(recording.names.size() - 1);
    EXPECT_EQ(name_thread(recording, delay, 77).thread, "recorded");
    EXPECT_EQ(name_thread(recording, delay, 78).thread, "");
}

// A run keyed by a value: thread 10 hands it to 11, which hands it back to 10. Since then 10's
// counts are known separately.
TEST(BeforeRecording, OfAValueEachThreadHasWhatLiesBetweenItsOwnMarkers) {
    const auto recording = recorded();
    trace::Delay delay = delay_before();
    delay.stages = {{"a", 10 * ms, 10}, {"b", 18 * ms, 11}, {"c", 25 * ms, 11}, {"d", 30 * ms, 10}};
    delay.so_far.tid = 10;
    delay.so_far.from_offset_ns = 30 * ms;
    delay.so_far.until_offset_ns = 40 * ms;
    delay.so_far.blocked_ns[LAGTRAP_WAIT_SLEEP] = 10 * ms;
    delay.so_far.earlier.on_cpu_ns = 12 * ms;
    delay.so_far.earlier.blocked_ns[LAGTRAP_WAIT_DISK] = 5 * ms;
    const auto intervals = intervals_of_delay(recording, delay);
    const auto split = split_time(recording, intervals);
    EXPECT_EQ(split.wall_ns, 70 * ms);
    EXPECT_EQ(split.outside_ns, 0U);
    EXPECT_EQ(split.between_threads_ns, 13 * ms);
    EXPECT_EQ(blocked_for(split, "sleep"), 10 * ms);
    EXPECT_NEAR(static_cast<double>(blocked_for(split, "disk")), static_cast<double>(5 * ms), 10);
    EXPECT_NEAR(static_cast<double>(split.on_cpu_ns), static_cast<double>((12 + 10) * ms), 10);
    std::uint64_t of_second_ns = 0;
    for (const Interval& interval : intervals) {
        if (interval.tid == 11) of_second_ns += interval.length_ns();
        if (interval.gap != Interval::Gap::BetweenThreads ||
            interval.begin_ns != delay.begin_ns + 25 * ms)
            continue;
        EXPECT_EQ(interval.from_tid, 11U);
        EXPECT_EQ(interval.to_tid, 10U);
    }
    EXPECT_EQ(of_second_ns, 7 * ms);
}

TEST(BeforeRecording, OfAnotherThreadNothingIsTaken) {
    const auto recording = recorded();
    trace::Delay delay = delay_before();
    delay.so_far = counts();
    delay.so_far.tid = 11;
    EXPECT_EQ(split_time(recording, intervals_of_delay(recording, delay)).outside_ns, 40 * ms);
}

// Counts come from a bundle's system file, which anybody can have written.
TEST(BeforeRecording, WhateverTheCountsSayThePartsAddUp) {
    const auto recording = recorded();
    std::mt19937_64 random(7);
    const auto any = [&] { return random() >> (random() % 64); };
    for (int round = 0; round < 2000; ++round) {
        trace::Delay delay = delay_before();
        trace::RunSoFar& known = delay.so_far;
        known.tid = 10;
        known.from_offset_ns = any();
        known.until_offset_ns = any();
        known.on_cpu_ns = any();
        known.runnable_ns = any();
        known.throttled_ns = any();
        for (auto& blocked_ns : known.blocked_ns) blocked_ns = any();
        known.earlier.on_cpu_ns = any();
        known.earlier.runnable_ns = any();
        for (auto& blocked_ns : known.earlier.blocked_ns) blocked_ns = any();
        for (int i = 0; i < 8; ++i)
            known.waits.push_back({any(),
                                   any(),
                                   static_cast<std::uint32_t>(any()),
                                   static_cast<std::uint32_t>(any() % 6),
                                   0,
                                   12,
                                   {}});
        for (int i = 0; i < round % 5; ++i)
            delay.stages.push_back(
                {"stage", any() % (80 * ms), static_cast<std::uint32_t>(10 + any() % 2)});
        delay.queued_ns = round % 7 == 0 ? any() : 0;
        std::uint64_t at_ns = delay.begin_ns;
        for (const Interval& interval : intervals_of_delay(recording, delay)) {
            ASSERT_EQ(interval.begin_ns, at_ns) << "round " << round;
            ASSERT_GT(interval.end_ns, interval.begin_ns);
            at_ns = interval.end_ns;
        }
        ASSERT_EQ(at_ns, end_of(delay)) << "round " << round;
    }
}

}  // namespace
}  // namespace lagtrap::analysis::before_recording_tests
