// Waits for child processes that look like something else.
#include "analysis/child_ends.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::child_ends_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint32_t own_pid = 10, child_pid = 20;

StateChange change(ThreadState state, std::uint64_t at_ms) {
    StateChange made;
    made.state = state;
    made.at_ns = at_ms * ms;
    return made;
}

class ChildEnds : public testing::Test {
  protected:
    ChildEnds() {
        made_.recording.end_ns = 2000 * ms;
        made_.recording.has_scheduling = true;
        made_.thread(own_pid, own_pid, "app").changes = {change(ThreadState::Blocked, 0)};
        made_.process(own_pid, 1);
        made_.process(child_pid, own_pid);
    }
    // From 1 ms after the first sleep began until then.
    Thread& child(std::uint32_t pid, std::uint64_t end_ms) {
        made_.process(pid, own_pid);
        Thread& made = made_.thread(pid, pid, "convert");
        made.changes = {change(ThreadState::Running, 1), change(ThreadState::Exited, end_ms)};
        return made;
    }
    // Sleeps of 10 ms each, 11 ms apart.
    std::vector<Interval> sleeps(std::size_t count) {
        const StackId stack = made_.stack({"main", "wait_child", "usleep", "k:hrtimer_nanosleep"});
        std::vector<Interval> made;
        for (std::size_t i = 0; i < count; ++i) {
            Interval sleep;
            sleep.tid = own_pid;
            sleep.state = ThreadState::Blocked;
            sleep.stack = stack;
            sleep.begin_ns = i * 11 * ms;
            sleep.end_ns = sleep.begin_ns + 10 * ms;
            sleep.woken = sleep.by_interrupt = true;
            sleep.wake_cause = WakeCause::Timeout;
            made.push_back(sleep);
        }
        return made;
    }
    std::uint32_t polled(std::vector<Interval> waits) {
        blame_polled_children(made_.recording, waits);
        for (const Interval& wait : waits) {
            EXPECT_EQ(wait.waker_tid, waits.front().waker_tid);
            EXPECT_EQ(wait.likely, wait.waker_tid != 0);
            EXPECT_EQ(wait.outlasting && wait.timed_out, wait.likely);
        }
        return waits.front().waker_tid;
    }
    // The thread runs before each next sleep, for this long.
    void run_between(std::vector<Interval>& waits, std::uint64_t ran_ns) {
        Thread& own = made_.recording.threads.front();
        own.changes.clear();
        for (const Interval& wait : waits) {
            StateChange blocked = change(ThreadState::Blocked, 0), running = blocked,
                        ready = blocked;
            blocked.at_ns = wait.begin_ns;
            ready.state = ThreadState::Runnable;
            ready.at_ns = wait.end_ns;
            running.state = ThreadState::Running;
            running.at_ns = wait.begin_ns + 11 * ms - ran_ns;
            own.changes.insert(own.changes.end(), {blocked, ready, running});
        }
    }
    test::MadeRecording made_;
};

TEST_F(ChildEnds, SleepsUntilAChildEndedWereProbablyForIt) {
    child(child_pid, 30);
    EXPECT_EQ(polled(sleeps(3)), child_pid);
    EXPECT_EQ(polled(sleeps(2)), 0U) << "too few";
    EXPECT_EQ(polled(sleeps(4)), 0U) << "it slept again after the child's end";
}

TEST_F(ChildEnds, OnlyAChildThatEndedInTheLastSleepIsMeant) {
    Thread& only = child(child_pid, 32);
    EXPECT_EQ(polled(sleeps(3)), child_pid) << "at the end of the last sleep";
    only.changes.back().at_ns += 1;
    EXPECT_EQ(polled(sleeps(3)), 0U) << "after it";
    only.changes.back().at_ns = 22 * ms;
    EXPECT_EQ(polled(sleeps(3)), 0U) << "before it";
    only.changes.back() = change(ThreadState::Blocked, 30);
    EXPECT_EQ(polled(sleeps(3)), 0U) << "it has not ended";
}

TEST_F(ChildEnds, AChildThatBeganLaterOrOneOfSeveralIsNotMeant) {
    Thread& late = child(child_pid, 30);
    late.changes.front().at_ns = 11 * ms;
    EXPECT_EQ(polled(sleeps(3)), 0U);
    late.changes.front().at_ns = 10 * ms;
    EXPECT_EQ(polled(sleeps(3)), child_pid);
    made_.recording.processes[child_pid].started_ns = 11 * ms;
    EXPECT_EQ(polled(sleeps(3)), 0U);
    made_.recording.processes[child_pid].started_ns = 9 * ms;
    child(child_pid + 1, 31);
    EXPECT_EQ(polled(sleeps(3)), 0U) << "two children ended";
    made_.recording.processes[child_pid + 1].parent_pid = 1;
    EXPECT_EQ(polled(sleeps(3)), child_pid) << "the other one is of another process";
}

TEST_F(ChildEnds, OnlySleepsThatExpiredCount) {
    child(child_pid, 30);
    std::vector<Interval> waits = sleeps(3);
    waits[1].wake_cause = WakeCause::Signal;
    EXPECT_EQ(polled({waits[0], waits[2]}), 0U);
    blame_polled_children(made_.recording, waits);
    EXPECT_EQ(waits[0].waker_tid, 0U);
    waits = sleeps(3);
    const StackId in_futex = made_.stack({"main", "k:futex_wait"});
    for (Interval& wait : waits) wait.stack = in_futex;
    EXPECT_EQ(polled(waits), 0U);
}

TEST_F(ChildEnds, SleepsWithHardlyAnyWorkBetweenThemPoll) {
    std::vector<Interval> waits = sleeps(20);
    EXPECT_TRUE(is_polling(made_.recording, waits));
    run_between(waits, ms / 2);
    EXPECT_TRUE(is_polling(made_.recording, waits));
    EXPECT_FALSE(is_polling(made_.recording, sleeps(19))) << "too few";
    waits[7].wake_cause = WakeCause::Thread;
    EXPECT_FALSE(is_polling(made_.recording, waits)) << "somebody woke it";
    waits[7].timed_out = true;
    EXPECT_TRUE(is_polling(made_.recording, waits));
    waits.back().tid = 11;
    EXPECT_FALSE(is_polling(made_.recording, waits)) << "of two threads";
}

TEST_F(ChildEnds, SleepsBetweenPiecesOfWorkDoNotPoll) {
    std::vector<Interval> waits = sleeps(40);
    for (Interval& wait : waits) wait.end_ns -= 5 * ms;
    run_between(waits, ms / 2);
    EXPECT_TRUE(is_polling(made_.recording, waits));
    run_between(waits, ms);
    EXPECT_FALSE(is_polling(made_.recording, waits));
}

// Thread 21 of the child has the last end, because thread 20 or 22 ended the process.
class ChildOfThreads : public ChildEnds {
  protected:
    ChildOfThreads() {
        made_.thread(child_pid, child_pid, "convert").changes = {change(ThreadState::Exited, 30)};
        StateChange killed = change(ThreadState::Runnable, 30);
        killed.woken = true;
        killed.wake_cause = WakeCause::Killed;
        killed.waker_tid = child_pid;
        made_.thread(child_pid, 21, "helper").changes = {change(ThreadState::Blocked, 1), killed,
                                                         change(ThreadState::Exited, 31)};
        made_.thread(child_pid, 22, "encoder").changes = {change(ThreadState::Exited, 30)};
    }
    StateChange& last_wakeup() { return made_.recording.threads[2].changes[1]; }
    std::uint32_t ended_by(std::uint32_t tid, const std::vector<std::string>& stack) {
        Interval wait;
        wait.tid = own_pid;
        wait.state = ThreadState::Blocked;
        wait.end_ns = 31 * ms;
        wait.stack = made_.stack(stack);
        wait.woken = true;
        wait.wake_cause = WakeCause::Thread;
        wait.waker_tid = tid;
        std::vector<Interval> waits{wait};
        blame_enders_of_children(made_.recording, waits);
        return waits[0].waker_tid;
    }
    const std::vector<std::string> in_wait4{"main", "wait4", "k:do_wait"};
};

TEST_F(ChildOfThreads, WhoeverEndedTheProcessEndedTheWait) {
    EXPECT_EQ(ended_by(21, in_wait4), child_pid);
    last_wakeup().waker_tid = 22;
    EXPECT_EQ(ended_by(21, in_wait4), 22U);
    EXPECT_EQ(ended_by(22, in_wait4), 22U) << "it was not killed";
    EXPECT_EQ(ended_by(99, in_wait4), 99U) << "unknown";
    EXPECT_EQ(ended_by(21, {"main", "read", "k:pipe_read"}), 21U);
}

TEST_F(ChildOfThreads, AProcessThatOthersKilledWasEndedByItsLastThread) {
    last_wakeup().waker_tid = own_pid;
    EXPECT_EQ(ended_by(21, in_wait4), 21U);
    last_wakeup().waker_tid = child_pid;
    last_wakeup().wake_cause = WakeCause::Signal;
    EXPECT_EQ(ended_by(21, in_wait4), 21U);
    last_wakeup().wake_cause = WakeCause::Killed;
    last_wakeup().by_interrupt = true;
    EXPECT_EQ(ended_by(21, in_wait4), 21U);
}

}  // namespace
}  // namespace lagtrap::analysis::child_ends_test
