// The pieces that counters make of the time before a recording, in full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/before_recording.hpp"
#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::before_recording_pieces_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t begin_ns = 1000 * ms;

// "-40 to -35 running", with milliseconds after the recording's begin.
std::string text_of(const Interval& interval) {
    const auto at = [](std::uint64_t time_ns) {
        return std::to_string(
            (static_cast<std::int64_t>(time_ns) - static_cast<std::int64_t>(begin_ns)) /
            static_cast<std::int64_t>(ms));
    };
    std::string text = at(interval.begin_ns) + " to " + at(interval.end_ns);
    switch (interval.state) {
        case ThreadState::Running: text += " running"; break;
        case ThreadState::Runnable: text += interval.throttled ? " throttled" : " runnable"; break;
        case ThreadState::Blocked: text += " blocked"; break;
        default: text += " " + std::string(to_text(interval));
    }
    if (interval.tid != 10) text += " tid " + std::to_string(interval.tid);
    if (!interval.queue.empty()) text += " in " + std::string(interval.queue);
    if (interval.stack != 0) text += " at " + std::to_string(interval.stack);
    if (interval.counted) text += " counted";
    if (interval.woken) text += interval.by_interrupt ? " interrupted" : " woken";
    if (interval.waker_tid != 0) text += " by " + std::to_string(interval.waker_tid);
    switch (interval.wake_cause) {
        case WakeCause::Thread: text += " (thread)"; break;
        case WakeCause::Timeout: text += " (timeout)"; break;
        case WakeCause::Interrupt: text += " (interrupt)"; break;
        default: break;
    }
    return text;
}

// A recording of 30 ms of thread 10, which runs until 10 ms and then waits for a lock. A run began
// 40 ms before it.
class BeforeARecording : public ::testing::Test {
  protected:
    BeforeARecording() {
        made_.recording.begin_ns = begin_ns;
        made_.recording.end_ns = begin_ns + 30 * ms;
        made_.recording.has_scheduling = true;
        lock_ = made_.stack({"main", "lock", "k:futex_wait", "k:schedule"});
        made_.thread(10, 10, "app");
        change(0, ThreadState::Running);
        change(10, ThreadState::Blocked).stack = lock_;
        delay_.begin_ns = begin_ns - 40 * ms;
        delay_.duration_ns = 70 * ms;
        delay_.begin_pid = delay_.begin_tid = delay_.end_pid = delay_.end_tid = 10;
        delay_.so_far.tid = 10;
        delay_.so_far.until_offset_ns = 40 * ms;
    }
    StateChange& change(std::uint64_t at_ms, ThreadState state) {
        StateChange& one = made_.recording.threads[0].changes.emplace_back();
        one.at_ns = begin_ns + at_ms * ms;
        one.state = state;
        return one;
    }
    // A wait that the counters know, `at_ms` after the delay's begin.
    trace::RunSoFar::Wait& wait(std::uint64_t at_ms, std::uint64_t length_ms,
                                std::uint32_t wait_class) {
        auto& one = delay_.so_far.waits.emplace_back();
        one.offset_ns = at_ms * ms;
        one.length_ns = length_ms * ms;
        one.wait_class = wait_class;
        return one;
    }
    // One that was recorded with its stack, by time before the recording.
    EarlierWait& earlier(std::uint64_t from_ms, std::uint64_t to_ms, StackId stack) {
        EarlierWait& one = made_.recording.earlier_waits.emplace_back();
        one.tid = 10;
        one.begin_ns = begin_ns - from_ms * ms;
        one.end_ns = begin_ns - to_ms * ms;
        one.stack = stack;
        return one;
    }
    [[nodiscard]] std::vector<std::string> shown() const {
        std::vector<std::string> texts;
        for (const Interval& interval : intervals_of_delay(made_.recording, delay_))
            texts.push_back(text_of(interval));
        return texts;
    }
    test::MadeRecording made_;
    StackId lock_ = 0;
    trace::Delay delay_;
};

TEST_F(BeforeARecording, EachSumIsAPiece) {
    delay_.so_far.on_cpu_ns = 20 * ms;
    delay_.so_far.runnable_ns = 8 * ms;
    delay_.so_far.throttled_ns = 3 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_LOCK] = 5 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_DISK] = 7 * ms;
    EXPECT_THAT(shown(),
                ElementsAre("-40 to -35 blocked in lock (futex) counted",
                            "-35 to -28 blocked in disk counted", "-28 to -25 throttled counted",
                            "-25 to -20 runnable counted", "-20 to 0 running counted",
                            "0 to 10 running", "10 to 30 blocked at 1"));
}

TEST_F(BeforeARecording, LongWaitsHaveTheirPlaceAndWaker) {
    delay_.so_far.on_cpu_ns = 10 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_LOCK] = 20 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_SLEEP] = 10 * ms;
    wait(10, 20, LAGTRAP_WAIT_LOCK).waker = LAGTRAP_WAKER_THREAD;
    delay_.so_far.waits[0].waker_tid = 12;
    // The rest is shared by the time before and after it.
    EXPECT_THAT(shown(),
                ElementsAre("-40 to -35 blocked in sleep counted", "-35 to -30 running counted",
                            "-30 to -10 blocked in lock (futex) counted woken by 12 (thread)",
                            "-10 to -5 blocked in sleep counted", "-5 to 0 running counted",
                            "0 to 10 running", "10 to 30 blocked at 1"));
    delay_.so_far.waits[0].waker = LAGTRAP_WAKER_INTERRUPT;
    EXPECT_THAT(shown()[2], "-30 to -10 blocked in lock (futex) counted interrupted (interrupt)");
    delay_.so_far.waits[0].wait_class = LAGTRAP_WAIT_SLEEP;
    EXPECT_THAT(shown(), Contains("-30 to -10 blocked in sleep counted interrupted (timeout)"))
        << "by its own timer";
}

TEST_F(BeforeARecording, WaitsWithAStackHaveItInsteadOfTheirClass) {
    const StackId nap = made_.stack({"main", "nap", "k:hrtimer_nanosleep", "k:schedule"});
    delay_.so_far.on_cpu_ns = 15 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_LOCK] = 20 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_SLEEP] = 5 * ms;
    wait(10, 20, LAGTRAP_WAIT_LOCK);
    earlier(30, 10, lock_).waker_tid = 12;
    EarlierWait& interrupted = earlier(5, 0, nap);
    interrupted.by_interrupt = true;
    earlier(60, 45, nap);  // before the run
    std::swap(made_.recording.earlier_waits[0], made_.recording.earlier_waits[2]);
    EXPECT_THAT(shown(),
                ElementsAre("-40 to -30 running counted", "-30 to -10 blocked at 1 woken by 12",
                            "-10 to -5 running counted", "-5 to 0 blocked at 2 interrupted",
                            "0 to 10 running", "10 to 30 blocked at 1"));
}

TEST_F(BeforeARecording, WaitsOfOtherThreadsAreNotTaken) {
    delay_.so_far.on_cpu_ns = 40 * ms;
    earlier(30, 10, lock_).tid = 11;
    EXPECT_THAT(shown(), ElementsAre("-40 to 0 running counted", "0 to 10 running",
                                     "10 to 30 blocked at 1"));
}

TEST_F(BeforeARecording, WaitsOfBothKindsAreInTheOrderOfTime) {
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_LOCK] = 10 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_DISK] = 10 * ms;
    wait(20, 10, LAGTRAP_WAIT_DISK);
    earlier(35, 25, lock_);
    EXPECT_THAT(
        shown(),
        ElementsAre("-40 to -35 running counted", "-35 to -25 blocked at 1 woken",
                    "-25 to -20 running counted", "-20 to -10 blocked in disk counted",
                    "-10 to 0 running counted", "0 to 10 running", "10 to 30 blocked at 1"));
}

TEST_F(BeforeARecording, AWaitWhoseReasonHasNoClassIsTakenOffTheLargestSum) {
    const StackId odd = made_.stack({"main", "k:odd_wait", "k:schedule"});
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_OTHER] = 20 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_DISK] = 5 * ms;
    earlier(20, 0, odd);
    EXPECT_THAT(shown(), ElementsAre("-40 to -35 blocked in disk counted",
                                     "-35 to -20 running counted", "-20 to 0 blocked at 2 woken",
                                     "0 to 10 running", "10 to 30 blocked at 1"));
}

// A run keyed by a value: thread 10 hands it to 11, which hands it back.
TEST_F(BeforeARecording, EarlierThreadsShareTheirSums) {
    delay_.stages = {
        {"a", 10 * ms, 10}, {"b", 18 * ms, 11}, {"c", 28 * ms, 11}, {"d", 30 * ms, 10}};
    delay_.so_far.from_offset_ns = 30 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_SLEEP] = 10 * ms;
    delay_.so_far.earlier.on_cpu_ns = 12 * ms;
    delay_.so_far.earlier.blocked_ns[LAGTRAP_WAIT_DISK] = 8 * ms;
    EXPECT_THAT(
        shown(),
        ElementsAre(
            "-40 to -36 blocked in disk counted", "-36 to -30 running counted",
            "-30 to -22 between its markers tid 0", "-22 to -18 blocked tid 11 in disk counted",
            "-18 to -12 running tid 11 counted", "-12 to -10 between its markers tid 0",
            "-10 to 0 blocked in sleep counted", "0 to 10 running", "10 to 30 blocked at 1"));
}

TEST_F(BeforeARecording, WithoutAStackOnlyTheWakerIsTaken) {
    delay_.so_far.on_cpu_ns = 20 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_LOCK] = 20 * ms;
    wait(10, 20, LAGTRAP_WAIT_LOCK);
    earlier(30, 10, 0).waker_tid = 12;
    EXPECT_THAT(shown(), ElementsAre("-40 to -30 running counted",
                                     "-30 to -10 blocked in lock (futex) counted woken by 12",
                                     "-10 to 0 running counted", "0 to 10 running",
                                     "10 to 30 blocked at 1"));
}

TEST_F(BeforeARecording, AWaitThatGoesOnKeepsItsClassIfNoStackIsKnown) {
    auto& changes = made_.recording.threads[0].changes;
    changes.clear();
    change(0, ThreadState::Blocked);
    StateChange& end = change(20, ThreadState::Running);
    end.woken = true;
    end.waker_tid = 13;
    delay_.so_far.on_cpu_ns = 30 * ms;
    delay_.so_far.until_offset_ns = 45 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_LOCK] = 15 * ms;
    wait(30, 15, LAGTRAP_WAIT_LOCK).waker = LAGTRAP_WAKER_THREAD;
    delay_.so_far.waits[0].waker_tid = 12;
    EXPECT_THAT(shown(), ElementsAre("-40 to -10 running counted",
                                     "-10 to 20 blocked in lock (futex) counted woken by 13",
                                     "20 to 30 running"));
    changes[0].stack = lock_;
    EXPECT_THAT(shown(), ElementsAre("-40 to -10 running counted",
                                     "-10 to 20 blocked at 1 woken by 13", "20 to 30 running"));
}

TEST_F(BeforeARecording, WhatIsRecordedAlreadyIsTakenOff) {
    // Counted until 20 ms after the recording's begin.
    delay_.so_far.until_offset_ns = 60 * ms;
    delay_.so_far.on_cpu_ns = (25 + 10) * ms;
    delay_.so_far.runnable_ns = 5 * ms;
    delay_.so_far.blocked_ns[LAGTRAP_WAIT_LOCK] = (10 + 10) * ms;
    EXPECT_THAT(shown(), ElementsAre("-40 to -30 blocked in lock (futex) counted",
                                     "-30 to -25 runnable counted", "-25 to 0 running counted",
                                     "0 to 10 running", "10 to 30 blocked at 1"));
    made_.recording.threads[0].changes[0].state = ThreadState::Runnable;
    delay_.so_far.on_cpu_ns = 25 * ms;
    delay_.so_far.runnable_ns = 15 * ms;
    EXPECT_THAT(shown(), ElementsAre("-40 to -30 blocked in lock (futex) counted",
                                     "-30 to -25 runnable counted", "-25 to 0 running counted",
                                     "0 to 10 runnable", "10 to 30 blocked at 1"));
}

TEST(WaitClasses, HaveReasons) {
    std::vector<std::string> reasons;
    for (std::uint32_t wait_class = 0; wait_class < wait_classes(); ++wait_class)
        reasons.emplace_back(reason_of_class(wait_class));
    EXPECT_THAT(reasons,
                ElementsAre("in the kernel", "lock (futex)", "events", "input", "output", "socket",
                            "sleep", "child process", "file lock", "lock (semaphore)", "disk",
                            "page fault", "stopped or frozen"));
    EXPECT_EQ(reason_of_class(wait_classes()), reasons[LAGTRAP_WAIT_OTHER]);
}

TEST_F(BeforeARecording, NamesOfWakersAreThoseOfTheirTime) {
    auto& known = wait(10, 20, LAGTRAP_WAIT_LOCK);
    known.waker = LAGTRAP_WAKER_THREAD;
    known.waker_pid = 20;
    known.waker_tid = 21;
    known.waker_thread = "child";
    made_.process(20, 1);
    made_.recording.processes[20].name = made_.name("batch");
    ThreadName name = name_thread(made_.recording, delay_, 21);
    EXPECT_EQ(name.pid, 20U);
    EXPECT_EQ(name.tid, 21U);
    EXPECT_EQ(name.thread, "child");
    EXPECT_EQ(name.process, "batch");
    known.waker = LAGTRAP_WAKER_SOFTIRQ;
    name = name_thread(made_.recording, delay_, 21);
    EXPECT_EQ(name.pid, 0U);
    EXPECT_EQ(name.thread, "");
    EXPECT_EQ(name.process, "");
    name = name_thread(made_.recording, delay_, 10);
    EXPECT_EQ(name.pid, 10U);
    EXPECT_EQ(name.thread, "app");
}

}  // namespace
}  // namespace lagtrap::analysis::before_recording_pieces_test
