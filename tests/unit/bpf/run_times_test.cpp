// Where the time of a run's threads went.
#include <sys/syscall.h>

#include <utility>

#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

constexpr std::uint32_t timed = LAGTRAP_EVENT_TIMES | LAGTRAP_EVENT_RECORD_RUNS;

class RunTimes : public EventMonitor {
  protected:
    // Thread `tid` waits in its call for `blocked_ns`, and returns to a CPU `runnable_ns` after its
    // wakeup.
    void wait(std::uint32_t tid, std::uint64_t blocked_ns, std::uint64_t runnable_ns,
              std::uint32_t state = interruptible) {
        block(thread(tid), idle, state);
        pass(blocked_ns);
        wake(thread(tid), waker);
        pass(runnable_ns);
        preempt(idle, thread(tid));
    }
    lagtrap_slot only_report() {
        const auto reported = take_reports();
        EXPECT_EQ(reported.size(), 1);
        return reported.empty() ? lagtrap_slot{} : reported[0];
    }
    static std::uint64_t length_of(const lagtrap_slot& slot) {
        return slot.run.end_ns - slot.run.begin_ns;
    }
    static std::uint32_t set_of(std::uint32_t tid) { return tid * 0x9e3779b1u >> 21; }

    const native_thread idle = idle_thread();
    native_thread& waker = thread(901);
};

TEST_F(RunTimes, the_parts_are_the_whole_run) {
    add_event(0, timed);
    thread(101).call = SYS_futex;
    begin(0, thread(101));
    pass(7);
    wait(101, 100, 20);
    pass(3);
    preempt(thread(101), idle);
    pass(40);
    preempt(idle, thread(101));
    pass(1);
    end(0, thread(101));
    const lagtrap_slot reported = only_report();
    EXPECT_EQ(reported.parts.on_cpu_ns, 11);
    EXPECT_EQ(reported.parts.runnable_ns, 60);
    EXPECT_EQ(reported.parts.throttled_ns, 0);
    EXPECT_EQ(reported.parts.blocked_ns[LAGTRAP_WAIT_LOCK], 100);
    EXPECT_EQ(sum_of(reported.parts), length_of(reported));
    EXPECT_EQ(counters(0).timed_ns, 171);
    EXPECT_EQ(counters(0).on_cpu_ns, 11);
    EXPECT_EQ(counters(0).runnable_ns, 60);
    EXPECT_EQ(counters(0).untimed, 0);
}

TEST_F(RunTimes, runs_that_nobody_is_told_of_are_counted_alike) {
    add_event(0, LAGTRAP_EVENT_TIMES);
    begin(0, thread(101));
    pass(7);
    wait(101, 100, 20);
    pass(3);
    end(0, thread(101));
    EXPECT_EQ(counters(0).timed_ns, 130);
    EXPECT_EQ(counters(0).on_cpu_ns, 10);
    EXPECT_EQ(counters(0).runnable_ns, 20);
    begin(0, thread(101));
    pass(7);
    wait(101, 100, 20);
    pass(3);
    end(0, thread(101));
    EXPECT_EQ(counters(0).timed_ns, 260);
    EXPECT_EQ(counters(0).on_cpu_ns, 20);
    EXPECT_EQ(counters(0).runnable_ns, 40);
}

TEST_F(RunTimes, a_wait_is_of_the_class_of_its_call) {
    const std::pair<std::uint64_t, lagtrap_wait_class> classes[] = {
        {SYS_poll, LAGTRAP_WAIT_EVENTS},
        {SYS_ppoll, LAGTRAP_WAIT_EVENTS},
        {SYS_select, LAGTRAP_WAIT_EVENTS},
        {SYS_pselect6, LAGTRAP_WAIT_EVENTS},
        {SYS_epoll_wait, LAGTRAP_WAIT_EVENTS},
        {SYS_epoll_pwait, LAGTRAP_WAIT_EVENTS},
        {SYS_io_getevents, LAGTRAP_WAIT_EVENTS},
        {SYS_read, LAGTRAP_WAIT_INPUT},
        {SYS_readv, LAGTRAP_WAIT_INPUT},
        {SYS_pread64, LAGTRAP_WAIT_INPUT},
        {SYS_preadv, LAGTRAP_WAIT_INPUT},
        {SYS_preadv2, LAGTRAP_WAIT_INPUT},
        {SYS_write, LAGTRAP_WAIT_OUTPUT},
        {SYS_writev, LAGTRAP_WAIT_OUTPUT},
        {SYS_pwrite64, LAGTRAP_WAIT_OUTPUT},
        {SYS_pwritev, LAGTRAP_WAIT_OUTPUT},
        {SYS_pwritev2, LAGTRAP_WAIT_OUTPUT},
        {SYS_recvfrom, LAGTRAP_WAIT_SOCKET},
        {SYS_recvmsg, LAGTRAP_WAIT_SOCKET},
        {SYS_recvmmsg, LAGTRAP_WAIT_SOCKET},
        {SYS_sendto, LAGTRAP_WAIT_SOCKET},
        {SYS_sendmsg, LAGTRAP_WAIT_SOCKET},
        {SYS_sendmmsg, LAGTRAP_WAIT_SOCKET},
        {SYS_accept, LAGTRAP_WAIT_SOCKET},
        {SYS_accept4, LAGTRAP_WAIT_SOCKET},
        {SYS_connect, LAGTRAP_WAIT_SOCKET},
        {SYS_futex, LAGTRAP_WAIT_LOCK},
        {SYS_nanosleep, LAGTRAP_WAIT_SLEEP},
        {SYS_clock_nanosleep, LAGTRAP_WAIT_SLEEP},
        {SYS_wait4, LAGTRAP_WAIT_CHILD},
        {SYS_waitid, LAGTRAP_WAIT_CHILD},
        {SYS_vfork, LAGTRAP_WAIT_CHILD},
        {SYS_flock, LAGTRAP_WAIT_FILE_LOCK},
        {SYS_fcntl, LAGTRAP_WAIT_FILE_LOCK},
        {SYS_semop, LAGTRAP_WAIT_SEMAPHORE},
        {SYS_semtimedop, LAGTRAP_WAIT_SEMAPHORE},
        {SYS_fsync, LAGTRAP_WAIT_DISK},
        {SYS_fdatasync, LAGTRAP_WAIT_DISK},
        {SYS_sync, LAGTRAP_WAIT_DISK},
        {SYS_syncfs, LAGTRAP_WAIT_DISK},
        {SYS_msync, LAGTRAP_WAIT_DISK},
        {SYS_sync_file_range, LAGTRAP_WAIT_DISK},
        {426, LAGTRAP_WAIT_EVENTS},
        {441, LAGTRAP_WAIT_EVENTS},
        {no_call, LAGTRAP_WAIT_PAGE},
        {SYS_getpid, LAGTRAP_WAIT_OTHER},
        {100'000'000, LAGTRAP_WAIT_OTHER},
    };
    add_event(0, timed);
    for (const auto& [call, wait_class] : classes) {
        thread(101).call = call;
        begin(0, thread(101));
        wait(101, 100, 0);
        end(0, thread(101));
        EXPECT_EQ(only_report().parts.blocked_ns[wait_class], 100) << "call " << call;
    }
}

TEST_F(RunTimes, what_the_kernel_says_of_a_wait_goes_before_its_call) {
    add_event(0, timed);
    native_thread& one = thread(101);
    one.call = SYS_read;
    begin(0, one);
    one.in_iowait = true;
    wait(101, 1, 0);
    one.frozen = true;
    wait(101, 20, 0);
    one.frozen = one.in_iowait = false;
    wait(101, 300, 0, 4);         // __TASK_STOPPED
    wait(101, 4000, 0, 8);        // __TASK_TRACED
    wait(101, 50000, 0, 0x8000);  // TASK_FROZEN
    one.is_32_bit = true;
    wait(101, 600000, 0);
    end(0, one);
    const lagtrap_slot reported = only_report();
    EXPECT_EQ(reported.parts.blocked_ns[LAGTRAP_WAIT_DISK], 1);
    EXPECT_EQ(reported.parts.blocked_ns[LAGTRAP_WAIT_STOPPED], 54320);
    EXPECT_EQ(reported.parts.blocked_ns[LAGTRAP_WAIT_OTHER], 600000);
    EXPECT_EQ(sum_of(reported.parts), length_of(reported));
}

TEST_F(RunTimes, a_thread_whose_group_has_used_up_its_quota_is_throttled) {
    add_event(0, timed);
    begin(0, thread(101));
    thread(101).throttled = true;
    preempt(thread(101), idle);
    pass(100);
    preempt(idle, thread(101));
    thread(101).throttled = false;
    preempt(thread(101), idle);
    pass(30);
    preempt(idle, thread(101));
    end(0, thread(101));
    const lagtrap_slot reported = only_report();
    EXPECT_EQ(reported.parts.throttled_ns, 100);
    EXPECT_EQ(reported.parts.runnable_ns, 130);
}

TEST_F(RunTimes, threads_of_real_time_are_not_throttled) {
    add_event(0, timed);
    begin(0, thread(101));
    thread(101).throttled = true;
    thread(101).priority = 50;
    preempt(thread(101), idle);
    pass(100);
    preempt(idle, thread(101));
    end(0, thread(101));
    EXPECT_EQ(only_report().parts.throttled_ns, 0);
}

TEST_F(RunTimes, each_of_several_open_runs_has_its_own_part) {
    add_event(0, timed);
    add_event(1, timed);
    begin(0, thread(101));
    wait(101, 100, 5);
    begin(1, thread(101));
    wait(101, 20, 3);
    end(0, thread(101));
    wait(101, 4000, 1);
    end(1, thread(101));
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 2);
    EXPECT_EQ(reported[0].parts.blocked_ns[LAGTRAP_WAIT_PAGE], 120);
    EXPECT_EQ(reported[0].parts.runnable_ns, 8);
    EXPECT_EQ(reported[1].parts.blocked_ns[LAGTRAP_WAIT_PAGE], 4020);
    EXPECT_EQ(reported[1].parts.runnable_ns, 4);
    for (const auto& one : reported) EXPECT_EQ(sum_of(one.parts), length_of(one));
}

TEST_F(RunTimes, what_happens_between_runs_is_no_runs) {
    add_event(0, timed);
    for (int i = 0; i < 3; ++i) {
        begin(0, thread(101));
        pass(10);
        end(0, thread(101));
        EXPECT_EQ(only_report().parts.on_cpu_ns, 10);
        pass(500);
        wait(101, 1000, 70);
    }
}

TEST_F(RunTimes, a_waking_of_a_thread_that_does_not_wait_changes_nothing) {
    add_event(0, timed);
    begin(0, thread(101));
    pass(5);
    wake(thread(101), waker);
    pass(5);
    end(0, thread(101));
    EXPECT_EQ(only_report().parts.on_cpu_ns, 10);
}

TEST_F(RunTimes, a_switch_of_a_thread_that_did_not_block_counts_as_runnable_whatever_its_state) {
    add_event(0, timed);
    begin(0, thread(101));
    kernel.current = &thread(101);
    native_switch(true, &thread(101), &idle, interruptible);
    pass(9);
    preempt(idle, thread(101));
    end(0, thread(101));
    EXPECT_EQ(only_report().parts.runnable_ns, 9);
}

TEST_F(RunTimes, a_thread_woken_while_it_leaves_its_cpu_is_runnable) {
    add_event(0, timed);
    begin(0, thread(101));
    wake(thread(101), waker);
    thread(101).woken_early = true;
    block(thread(101), idle);
    pass(9);
    preempt(idle, thread(101));
    end(0, thread(101));
    EXPECT_EQ(only_report().parts.runnable_ns, 9);
}

TEST_F(RunTimes, of_a_thread_whose_coming_was_not_seen_the_kernels_count_says_how_long_it_ran) {
    add_event(0, timed);
    thread(101).ran_ns = 1'000'000;
    begin(0, thread(101));
    preempt(thread(101), idle);
    pass(100);
    thread(101).ran_ns += 30;
    preempt(thread(101), idle);
    pass(10);
    preempt(idle, thread(101));
    end(0, thread(101));
    const lagtrap_slot reported = only_report();
    EXPECT_EQ(reported.parts.on_cpu_ns, 30);
    EXPECT_EQ(reported.parts.runnable_ns, 80);
    EXPECT_EQ(sum_of(reported.parts), length_of(reported));
}

TEST_F(RunTimes, a_thread_that_hits_a_marker_is_on_a_cpu) {
    add_event(0, timed);
    begin(0, thread(101));
    preempt(thread(101), idle);
    pass(100);
    thread(101).ran_ns += 1000;  // more than has passed
    end(0, thread(101));
    const lagtrap_slot reported = only_report();
    EXPECT_EQ(reported.parts.on_cpu_ns, 100);
    EXPECT_EQ(sum_of(reported.parts), length_of(reported));
}

TEST_F(RunTimes, how_long_a_thread_was_on_a_cpu_before_a_hit_is_as_the_kernel_counts_it) {
    add_event(0, timed);
    add_event(1, timed);
    thread(101).ran_ns = 1'000'000;
    begin(0, thread(101));
    preempt(thread(101), idle);
    pass(100);
    thread(101).ran_ns += 30;
    begin(1, thread(101));
    pass(5);
    end(1, thread(101));
    lagtrap_slot reported = only_report();
    EXPECT_EQ(reported.parts.on_cpu_ns, 5);
    EXPECT_EQ(reported.parts.runnable_ns, 0);
    end(0, thread(101));
    reported = only_report();
    EXPECT_EQ(reported.parts.on_cpu_ns, 35);
    EXPECT_EQ(reported.parts.runnable_ns, 70);
    begin(0, thread(101));
    preempt(thread(101), idle);
    pass(100);
    thread(101).ran_ns += 40;
    end(0, thread(101));
    reported = only_report();
    EXPECT_EQ(reported.parts.on_cpu_ns, 40);
    EXPECT_EQ(reported.parts.runnable_ns, 60);
}

TEST_F(RunTimes, at_stages_it_is_as_the_kernel_counts_it_too) {
    add_event(0, timed | LAGTRAP_EVENT_KEY_ARGUMENT);
    thread(101).ran_ns = 1'000'000;
    begin(0, thread(101), {.key = 7});
    EXPECT_EQ(times_of(101).always, 1U);
    preempt(thread(101), idle);
    pass(100);
    thread(101).ran_ns += 30;
    stage(0, thread(101), 0, {.key = 7});
    EXPECT_EQ(times_of(101).last_begin_ns, kernel.now_ns);
    pass(5);
    end(0, thread(101), {.key = 7});
    const lagtrap_slot reported = only_report();
    EXPECT_EQ(reported.parts.on_cpu_ns, 35);
    EXPECT_EQ(reported.parts.runnable_ns, 70);
}

TEST_F(RunTimes, switches_of_threads_without_runs_are_not_counted) {
    add_event(0, timed);
    begin(0, thread(101));
    end(0, thread(101));
    block(thread(101), idle);
    EXPECT_EQ(times_of(101).state, LAGTRAP_THREAD_ON_CPU);
}

TEST_F(RunTimes, a_thread_that_takes_an_entry_has_nothing_of_who_had_it) {
    add_event(0, timed | LAGTRAP_EVENT_KEY_ARGUMENT);
    std::vector<std::uint32_t> tids;
    for (std::uint32_t tid = 101; tids.size() < LAGTRAP_TIMED_WAYS + 2; ++tid)
        if (set_of(tid) == set_of(101)) tids.push_back(tid);
    begin(0, thread(101), {.key = 1});
    wait(101, 500, 20);
    add_event(0, timed);
    for (std::size_t i = 1; i <= LAGTRAP_TIMED_WAYS; ++i) {
        pass(10);
        begin(0, thread(tids[i]));
    }
    const lagtrap_thread_times& taken = times_of(tids[LAGTRAP_TIMED_WAYS]);
    EXPECT_EQ(taken.since_ns, kernel.now_ns);
    EXPECT_EQ(taken.last_begin_ns, kernel.now_ns);
    EXPECT_EQ(taken.always, 0U);
    EXPECT_EQ(taken.open, 1U);
    EXPECT_EQ(taken.generation, 2U);
    EXPECT_EQ(sum_of(taken.parts), 0U);
    EXPECT_EQ(taken.waits[0].begin_ns, 0U);
    // An entry that user space has freed is taken first.
    auto& set = kernel.at<lagtrap_timed_set>(native_maps.timed_sets, set_of(101));
    set.tids[2] = 0;
    begin(0, thread(tids.back()));
    EXPECT_EQ(set.tids[2], tids.back());
}

TEST_F(RunTimes, a_thread_that_lost_its_entry_between_two_hits_begins_anew) {
    add_event(0, timed | LAGTRAP_EVENT_KEY_ARGUMENT);
    add_event(1, timed);
    begin(0, thread(101), {.key = 7});
    std::vector<std::uint32_t> others;
    for (std::uint32_t tid = 102; others.size() < LAGTRAP_TIMED_WAYS; ++tid)
        if (set_of(tid) == set_of(101)) others.push_back(tid);
    for (const std::uint32_t tid : others) {
        pass(10);
        begin(1, thread(tid));
    }
    stage(0, thread(101), 0, {.key = 7});
    pass(5);
    end(0, thread(101), {.key = 7});
    const lagtrap_slot reported = only_report();
    EXPECT_EQ(sum_of(reported.parts), 5);
    EXPECT_EQ(reported.parts.on_cpu_ns, 5);
    EXPECT_EQ(reported.handed_over_ns, 0);
}

TEST_F(RunTimes, a_thread_with_an_open_run_is_not_thought_to_have_been_preempted) {
    add_event(0, timed);
    add_event(1, timed);
    begin(0, thread(101));
    kernel.before_exchange = [this] { pass(8000); };
    begin(1, thread(101));
    end(1, thread(101));
    const lagtrap_slot reported = only_report();
    EXPECT_EQ(reported.parts.on_cpu_ns, 8000);
    EXPECT_EQ(reported.parts.runnable_ns, 0);
}

TEST_F(RunTimes, whether_it_is_frozen_is_not_known_of_old_kernels) {
    add_event(0, timed);
    kernel.missing.insert("task->frozen");
    thread(101).call = SYS_read;
    thread(101).frozen = true;
    begin(0, thread(101));
    wait(101, 20, 0);
    end(0, thread(101));
    EXPECT_EQ(only_report().parts.blocked_ns[LAGTRAP_WAIT_INPUT], 20);
}

TEST_F(RunTimes, a_copy_of_sums_that_a_preemption_falls_into_is_made_again) {
    add_event(0, timed);
    begin(0, thread(101));
    pass(50);
    const std::uint64_t end_ns = kernel.now_ns;
    kernel.at_barrier = [this] {
        pass(5);
        preempt(thread(101), idle);
        pass(100);
        preempt(idle, thread(101));
        kernel.current = &thread(101);
    };
    end(0, thread(101));
    const lagtrap_slot reported = only_report();
    EXPECT_EQ(reported.run.end_ns, end_ns);
    EXPECT_EQ(sum_of(reported.parts), 50);
    EXPECT_EQ(reported.parts.blocked_ns[LAGTRAP_WAIT_PAGE], 0);
}

TEST_F(RunTimes, a_thread_that_loses_its_entry_to_another_is_not_timed) {
    add_event(0, timed);
    std::vector<std::uint32_t> tids;
    for (std::uint32_t tid = 101; tids.size() < LAGTRAP_TIMED_WAYS + 1; ++tid)
        if (set_of(tid) == set_of(101)) tids.push_back(tid);
    for (const std::uint32_t tid : tids) {
        begin(0, thread(tid));
        pass(10);
    }
    EXPECT_EQ(counters(0).untimed, 0);
    for (const std::uint32_t tid : tids) end(0, thread(tid));
    EXPECT_EQ(counters(0).untimed, 1);
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), tids.size());
    EXPECT_EQ(reported[0].times_generation, 0);
    for (std::size_t i = 1; i < reported.size(); ++i)
        EXPECT_EQ(sum_of(reported[i].parts), length_of(reported[i]));
}

TEST_F(RunTimes, an_entry_that_a_thread_lost_and_got_again_does_not_count_for_its_older_run) {
    add_event(0, timed);
    begin(0, thread(101));
    std::vector<std::uint32_t> others;
    for (std::uint32_t tid = 102; others.size() < LAGTRAP_TIMED_WAYS; ++tid)
        if (set_of(tid) == set_of(101)) others.push_back(tid);
    for (const std::uint32_t tid : others) {
        pass(10);
        begin(0, thread(tid));
    }
    pass(10);
    begin(0, thread(101));
    end(0, thread(101));
    EXPECT_EQ(counters(0).untimed, 0);
    end(0, thread(101));
    EXPECT_EQ(counters(0).untimed, 1);
}

TEST_F(RunTimes, a_thread_that_was_preempted_at_once_waited_since_its_begin) {
    add_event(0, timed);
    const std::uint64_t begin_ns = kernel.now_ns;
    // The program has read the clock; then the thread is preempted, and its switches are not
    // counted yet.
    kernel.before_exchange = [this] { pass(8000); };
    begin(0, thread(101));
    pass(2000);
    end(0, thread(101));
    const lagtrap_slot reported = only_report();
    EXPECT_EQ(reported.run.begin_ns, begin_ns);
    EXPECT_EQ(reported.parts.runnable_ns, 8000);
    EXPECT_EQ(reported.parts.on_cpu_ns, 2000);
}

TEST_F(RunTimes, a_program_that_takes_its_time_is_no_preemption) {
    add_event(0, timed);
    kernel.before_exchange = [this] { pass(4999); };
    begin(0, thread(101));
    end(0, thread(101));
    EXPECT_EQ(only_report().parts.runnable_ns, 0);
}

}  // namespace lagtrap::native
