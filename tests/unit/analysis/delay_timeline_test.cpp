#include "analysis/delay_timeline.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::delay_timeline_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t begin_ns = 1000 * ms;

class TimelineOfADelay : public testing::Test {
  protected:
    TimelineOfADelay() {
        made_.recording.begin_ns = begin_ns;
        made_.recording.end_ns = begin_ns + 100 * ms;
        made_.recording.has_scheduling = true;
        Thread& worker = made_.thread(10, 11, "worker");
        const StackId pipe = made_.stack({"main", "k:pipe_read"});
        add(worker, 0, ThreadState::Running);
        add(worker, 10, ThreadState::Blocked, pipe);
        StateChange& woken = add(worker, 30, ThreadState::Runnable);
        woken.woken = true;
        woken.waker_tid = 20;
        add(worker, 40, ThreadState::Running);
        for (const std::uint64_t at : {2, 4, 50})
            worker.samples.push_back({begin_ns + at * ms, pipe, at == 50 ? 3U : 1U});
        made_.thread(20, 20, "writer");
        made_.process(20, 1);
        made_.recording.processes[20].name = made_.name("other");
        delay_.begin_ns = begin_ns;
        delay_.duration_ns = 100 * ms;
        delay_.begin_pid = delay_.end_pid = 10;
        delay_.begin_tid = delay_.end_tid = 11;
    }
    static StateChange& add(Thread& thread, std::uint64_t at_ms, ThreadState state,
                            StackId stack = 0) {
        StateChange change;
        change.at_ns = begin_ns + at_ms * ms;
        change.state = state;
        change.stack = stack;
        thread.changes.push_back(change);
        return thread.changes.back();
    }
    [[nodiscard]] DelayTimeline timeline(std::size_t limit = timeline_limit) const {
        return timeline_of_delay(made_.recording, delay_, limit);
    }
    test::MadeRecording made_;
    trace::Delay delay_;
};

TEST_F(TimelineOfADelay, HasEachStateOfItsThread) {
    const DelayTimeline found = timeline();
    EXPECT_EQ(found.begin_ns, begin_ns);
    EXPECT_EQ(found.end_ns, begin_ns + 100 * ms);
    EXPECT_EQ(found.dropped, 0U);
    ASSERT_EQ(found.intervals.size(), 4U);
    const std::vector<TimeKind> kinds{TimeKind::OnCpu, TimeKind::Blocked, TimeKind::Runnable,
                                      TimeKind::OnCpu};
    const std::vector<std::uint64_t> ends_ms{10, 30, 40, 100};
    std::uint64_t from_ns = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const TimelineInterval& interval = found.intervals[i];
        EXPECT_EQ(interval.from_ns, from_ns);
        EXPECT_EQ(interval.to_ns, ends_ms[i] * ms);
        EXPECT_EQ(interval.kind, kinds[i]);
        EXPECT_EQ(interval.tid, 11U);
        EXPECT_EQ(interval.reason, i == 1 ? "pipe" : "");
        EXPECT_EQ(interval.stack, i == 1 ? 1U : 0U);
        from_ns = interval.to_ns;
    }
    EXPECT_EQ(found.intervals[0].cpu, 1U);
    EXPECT_EQ(found.intervals[1].cpu, std::nullopt);
    EXPECT_EQ(found.intervals[3].cpu, 3U);
    ASSERT_TRUE(found.intervals[1].waker);
    EXPECT_EQ(found.intervals[1].waker->process, "other");
    EXPECT_EQ(found.intervals[1].waker->thread, "writer");
    EXPECT_FALSE(found.intervals[0].waker);
    ASSERT_EQ(found.samples.size(), 3U);
    EXPECT_EQ(found.samples[0].at_ns, 2 * ms);
    EXPECT_EQ(found.samples[2].at_ns, 50 * ms);
    EXPECT_EQ(found.samples[2].stack, 1U);
}

TEST_F(TimelineOfADelay, AnInterruptIsNoWaker) {
    made_.recording.threads[0].changes[2].by_interrupt = true;
    EXPECT_FALSE(timeline().intervals[1].waker);
}

TEST_F(TimelineOfADelay, OfAnUnknownThreadIsNotRecorded) {
    delay_.begin_tid = delay_.end_tid = 99;
    const DelayTimeline found = timeline();
    ASSERT_EQ(found.intervals.size(), 1U);
    EXPECT_EQ(found.intervals[0].kind, TimeKind::Unknown);
    EXPECT_EQ(found.intervals[0].reason, "not recorded");
    EXPECT_EQ(found.intervals[0].to_ns, 100 * ms);
    EXPECT_TRUE(found.samples.empty());
}

TEST_F(TimelineOfADelay, TimeOutsideTheRecordingSaysWhy) {
    delay_.begin_ns -= 5 * ms;
    const DelayTimeline found = timeline();
    EXPECT_EQ(found.intervals[0].kind, TimeKind::Unknown);
    EXPECT_EQ(found.intervals[0].reason, "outside the recording");
    EXPECT_EQ(found.intervals[0].to_ns, 5 * ms);
    EXPECT_EQ(found.samples[0].at_ns, 7 * ms);
}

TEST_F(TimelineOfADelay, BeyondTheLimitShortNeighboursAreJoined) {
    const DelayTimeline found = timeline(3);
    ASSERT_EQ(found.intervals.size(), 2U);
    EXPECT_EQ(found.intervals[0].from_ns, 0U);
    EXPECT_EQ(found.intervals[0].to_ns, 40 * ms);
    EXPECT_EQ(found.intervals[0].reason, "too short to show");
    EXPECT_EQ(found.intervals[0].kind, TimeKind::Unknown);
    EXPECT_EQ(found.intervals[0].tid, 0U);
    EXPECT_EQ(found.intervals[1].from_ns, 40 * ms);
    EXPECT_EQ(found.intervals[1].to_ns, 100 * ms);
    EXPECT_EQ(found.intervals[1].kind, TimeKind::OnCpu) << "it is long enough";
    EXPECT_EQ(found.dropped, 2U);
    EXPECT_EQ(timeline(1).intervals.size(), 1U);
    EXPECT_EQ(timeline(0).intervals.size(), 1U);
    EXPECT_EQ(timeline(1).intervals[0].to_ns, 100 * ms);
    EXPECT_EQ(timeline(1).dropped, 5U) << "three intervals and two samples";
    EXPECT_EQ(timeline(4).dropped, 0U);
}

TEST_F(TimelineOfADelay, NeighboursInTheMiddleAreJoinedThere) {
    Thread& worker = made_.recording.threads[0];
    worker.changes.clear();
    add(worker, 0, ThreadState::Running);
    add(worker, 60, ThreadState::Blocked);
    add(worker, 65, ThreadState::Runnable);
    add(worker, 70, ThreadState::Running);
    const DelayTimeline found = timeline(3);
    ASSERT_EQ(found.intervals.size(), 3U);
    EXPECT_EQ(found.intervals[0].to_ns, 60 * ms);
    EXPECT_EQ(found.intervals[1].from_ns, 60 * ms);
    EXPECT_EQ(found.intervals[1].to_ns, 70 * ms);
    EXPECT_EQ(found.intervals[1].reason, "too short to show");
    EXPECT_EQ(found.intervals[2].from_ns, 70 * ms);
    EXPECT_EQ(found.dropped, 1U);
}

TEST_F(TimelineOfADelay, SamplesAreThinnedOutEvenly) {
    auto& samples = made_.recording.threads[0].samples;
    samples.clear();
    for (std::uint64_t at = 50; at < 60; ++at) samples.push_back({begin_ns + at * ms, 1, 0});
    const DelayTimeline found = timeline(5);
    ASSERT_EQ(found.samples.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(found.samples[i].at_ns, (50 + 2 * i) * ms);
    EXPECT_EQ(found.dropped, 5U);
    EXPECT_EQ(timeline(10).samples.size(), 10U);
}

}  // namespace
}  // namespace lagtrap::analysis::delay_timeline_test
