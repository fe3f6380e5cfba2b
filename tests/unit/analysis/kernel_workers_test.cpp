#include "analysis/kernel_workers.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::kernel_workers_test {
namespace {

// From 10 to 110, thread 11 waits until worker 5 wakes it, to which 20 gave work at 50.
struct Work {
    test::MadeRecording made;
    Interval wait;
    std::string worker_name = "kworker/0:1";
    std::uint32_t worker_parent = 2, giver = 20, giver_parent = 1;
    bool by_interrupt = false;
    std::uint64_t given_ns = 50, done_ns = 100;

    Work() {
        wait.begin_ns = 10;
        wait.end_ns = 110;
        wait.tid = 11;
        wait.waker_tid = 5;
        wait.state = ThreadState::Blocked;
        wait.woken = true;
        wait.wake_cause = WakeCause::Thread;
    }

    Interval blamed() {
        made.recording.begin_ns = 0;
        made.recording.end_ns = 1000;
        made.process(5, worker_parent);
        made.process(20, giver_parent);
        const auto change = [](std::uint64_t at_ns, ThreadState state) {
            StateChange one;
            one.at_ns = at_ns;
            one.state = state;
            return one;
        };
        Thread& worker = made.thread(5, 5, worker_name);
        worker.changes = {change(1, ThreadState::Blocked), change(given_ns, ThreadState::Runnable),
                          change(given_ns + 1, ThreadState::Running),
                          change(done_ns, ThreadState::Blocked)};
        worker.changes[1].woken = true;
        worker.changes[1].waker_tid = giver;
        worker.changes[1].by_interrupt = by_interrupt;
        worker.changes[1].wake_cause = by_interrupt ? WakeCause::Disk : WakeCause::Thread;
        worker.changes[1].wake_device = made.name("sda");
        made.thread(20, 20, "app");
        std::vector<Interval> intervals{wait};
        blame_givers_of_work(made.recording, intervals);
        return intervals.front();
    }
};

TEST(KernelWorkers, WhoeverGaveTheWorkEndedTheWait) {
    Work work;
    const Interval blamed = work.blamed();
    EXPECT_EQ(blamed.waker_tid, 20U);
    EXPECT_FALSE(blamed.by_interrupt);
    Work of_disk;
    of_disk.by_interrupt = true;
    of_disk.giver_parent = 2;
    const Interval by_disk = of_disk.blamed();
    EXPECT_EQ(by_disk.waker_tid, 20U);
    EXPECT_TRUE(by_disk.by_interrupt);
    EXPECT_EQ(by_disk.wake_cause, WakeCause::Disk);
    EXPECT_EQ(of_disk.made.recording.name(by_disk.wake_device), "sda");
}

TEST(KernelWorkers, WorkThatTookMoreThanHalfOfTheWaitIsTheWorkersOwn) {
    Work half;
    half.done_ns = 100;
    EXPECT_EQ(half.blamed().waker_tid, 20U);
    Work more;
    more.done_ns = 101;
    EXPECT_EQ(more.blamed().waker_tid, 5U);
}

TEST(KernelWorkers, OnlyWorkGivenDuringTheWaitCounts) {
    Work at_begin;
    at_begin.given_ns = 10;
    at_begin.done_ns = 20;
    EXPECT_EQ(at_begin.blamed().waker_tid, 5U);
    Work after_begin;
    after_begin.given_ns = 11;
    after_begin.done_ns = 20;
    EXPECT_EQ(after_begin.blamed().waker_tid, 20U);
    Work at_end;
    at_end.given_ns = 110;
    at_end.done_ns = 120;
    EXPECT_EQ(at_end.blamed().waker_tid, 20U);
    Work after_end;
    after_end.given_ns = 111;
    after_end.done_ns = 120;
    EXPECT_EQ(after_end.blamed().waker_tid, 5U);
}

TEST(KernelWorkers, OnlyKernelWorkersPassWorkOn) {
    Work thread;
    thread.worker_name = "worker";
    EXPECT_EQ(thread.blamed().waker_tid, 5U);
    Work program;
    program.worker_parent = 1;
    EXPECT_EQ(program.blamed().waker_tid, 5U);
    Work by_kernel;
    by_kernel.giver_parent = 2;
    EXPECT_EQ(by_kernel.blamed().waker_tid, 5U);
    Work by_itself;
    by_itself.giver = 11;
    EXPECT_EQ(by_itself.blamed().waker_tid, 5U);
}

TEST(KernelWorkers, OnlyWaitsThatAThreadEndedAreLookedAt) {
    Work by_interrupt;
    by_interrupt.wait.by_interrupt = true;
    EXPECT_EQ(by_interrupt.blamed().waker_tid, 5U);
    Work runnable;
    runnable.wait.state = ThreadState::Runnable;
    EXPECT_EQ(runnable.blamed().waker_tid, 5U);
    Work open;
    open.wait.woken = false;
    EXPECT_EQ(open.blamed().waker_tid, 5U);
}

TEST(KernelWorkers, ThreadsOfTheKernelAreChildrenOfProcess2) {
    Work work;
    (void)work.blamed();
    EXPECT_TRUE(is_kernel_thread(work.made.recording, 5));
    EXPECT_FALSE(is_kernel_thread(work.made.recording, 20));
    EXPECT_FALSE(is_kernel_thread(work.made.recording, 99));
}

}  // namespace
}  // namespace lagtrap::analysis::kernel_workers_test
