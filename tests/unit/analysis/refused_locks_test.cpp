#include "analysis/refused_locks.hpp"

#include <gtest/gtest.h>

#include "analysis/process_threads.hpp"
#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::refused_locks_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint32_t own_pid = 10, holder_pid = 20;

class RefusedLocks : public testing::Test {
  protected:
    RefusedLocks() {
        thread(own_pid, own_pid);
        thread(holder_pid, holder_pid);
        WaitedFile refused;
        refused.kind = WaitFileKind::Refused;
        refused.path = made_.name("/srv/data");
        refused.holder_pid = holder_pid;
        made_.recording.waited_files = {refused, refused};
    }
    Thread& thread(std::uint32_t pid, std::uint32_t tid) {
        Thread& made = made_.thread(pid, tid);
        made.changes.resize(1);
        made.changes[0].state = ThreadState::Running;
        return made;
    }
    // Each has an entry of its own for the file.
    std::vector<Interval> waits(std::size_t count, const std::vector<std::string>& stack) {
        const StackId place = made_.stack(stack);
        std::vector<Interval> made;
        for (std::size_t i = 0; i < count; ++i) {
            Interval wait;
            wait.tid = own_pid;
            wait.state = ThreadState::Blocked;
            wait.stack = place;
            wait.file = static_cast<std::uint32_t>(1 + i % 2);
            wait.begin_ns = i * 10 * ms;
            wait.end_ns = wait.begin_ns + 9 * ms;
            wait.woken = wait.by_interrupt = true;
            wait.wake_cause = WakeCause::Timeout;
            made.push_back(wait);
        }
        return made;
    }
    std::uint32_t holder(std::vector<Interval> intervals) {
        blame_refusers(made_.recording, intervals);
        for (const Interval& wait : intervals) {
            EXPECT_EQ(wait.waker_tid, intervals.front().waker_tid);
            EXPECT_EQ(wait.outlasting && wait.timed_out, wait.waker_tid != 0);
            EXPECT_FALSE(wait.likely);
        }
        return intervals.front().waker_tid;
    }
    const std::vector<std::string> in_sleep{"main", "try_lock", "k:hrtimer_nanosleep"};
    const std::vector<std::string> in_sqlite{"main", "sqliteDefaultBusyCallback",
                                             "k:hrtimer_nanosleep"};
    test::MadeRecording made_;
};

TEST_F(RefusedLocks, SleepsBetweenRefusalsWaitForTheHolder) {
    EXPECT_EQ(holder(waits(3, in_sleep)), holder_pid);
    EXPECT_EQ(holder(waits(2, in_sleep)), 0U) << "it may sleep for another reason";
    EXPECT_EQ(holder(waits(1, in_sqlite)), holder_pid);
    EXPECT_EQ(holder(waits(3, {"main", "poll", "k:do_sys_poll"})), 0U) << "for events";
}

TEST_F(RefusedLocks, OnlyRefusedLocksWithOneHolderCount) {
    made_.recording.waited_files[1].holder_pid = 30;
    EXPECT_EQ(holder(waits(3, in_sleep)), 0U) << "twice one holder, once another";
    for (WaitedFile& file : made_.recording.waited_files) file.holder_pid = 0;
    EXPECT_EQ(holder(waits(3, in_sleep)), 0U) << "unknown";
    for (WaitedFile& file : made_.recording.waited_files) file.holder_pid = own_pid;
    EXPECT_EQ(holder(waits(3, in_sleep)), 0U) << "itself";
    for (WaitedFile& file : made_.recording.waited_files) file.holder_pid = holder_pid;
    EXPECT_EQ(holder(waits(3, in_sleep)), holder_pid);
    for (WaitedFile& file : made_.recording.waited_files) file.kind = WaitFileKind::OfCall;
    EXPECT_EQ(holder(waits(3, in_sleep)), 0U);
}

TEST_F(RefusedLocks, SleepsThatSomethingElseEndedDoNotCount) {
    std::vector<Interval> intervals = waits(3, in_sleep);
    intervals[1].wake_cause = WakeCause::Signal;
    blame_refusers(made_.recording, intervals);
    for (const Interval& wait : intervals) EXPECT_EQ(wait.waker_tid, 0U);
}

TEST_F(RefusedLocks, OfAProcessWithSeveralThreadsNoneIsNamed) {
    Thread& second = thread(holder_pid, 21);
    EXPECT_EQ(holder(waits(3, in_sleep)), 0U);
    EXPECT_EQ(only_thread_of(made_.recording, holder_pid), 0U);
    second.changes.back().state = ThreadState::Exited;
    EXPECT_TRUE(has_ended(second));
    EXPECT_EQ(holder(waits(3, in_sleep)), holder_pid);
    EXPECT_EQ(only_thread_of(made_.recording, 99), 0U);
}

}  // namespace
}  // namespace lagtrap::analysis::refused_locks_test
