// The longest waits of a thread, and what took most of a delay.
#include <sys/syscall.h>

#include <algorithm>

#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

class KeptWaits : public EventMonitor {
  protected:
    KeptWaits() { add_event(0, LAGTRAP_EVENT_TIMES).threshold_ns = 100; }
    void wait(std::uint64_t blocked_ns, const native_thread& by) {
        block(thread(101), idle);
        pass(blocked_ns);
        wake(thread(101), by);
        preempt(idle, thread(101));
    }
    // Lengths, shortest first.
    std::vector<std::uint64_t> kept() {
        std::vector<std::uint64_t> lengths;
        for (const lagtrap_wait& one : times_of(101).waits)
            if (one.length_ns != 0) lengths.push_back(one.length_ns);
        std::sort(lengths.begin(), lengths.end());
        return lengths;
    }
    const native_thread idle = idle_thread();
};

TEST_F(KeptWaits, the_longest_waits_are_kept) {
    begin(0, thread(101));
    for (const std::uint64_t blocked_ns : {5, 90, 10, 80, 20, 70, 30, 60, 40, 50, 3, 7, 95})
        wait(blocked_ns, thread(102));
    EXPECT_EQ(kept(), (std::vector<std::uint64_t>{30, 40, 50, 60, 70, 80, 90, 95}));
}

TEST_F(KeptWaits, a_wait_displaces_the_shortest_one_whatever_came_last) {
    const std::vector<std::vector<std::uint64_t>> orders{{100, 200, 300, 400, 500, 600, 700, 800},
                                                         {800, 700, 600, 500, 400, 300, 200, 100},
                                                         {300, 100, 800, 200, 700, 400, 600, 500}};
    for (const auto& order : orders) {
        begin(0, thread(101));
        for (const std::uint64_t blocked_ns : order) wait(blocked_ns, thread(102));
        wait(900, thread(102));
        wait(250, thread(102));
        wait(220, thread(102));
        EXPECT_EQ(kept(), (std::vector<std::uint64_t>{250, 300, 400, 500, 600, 700, 800, 900}));
        wait(260, thread(102));
        EXPECT_EQ(kept()[0], 260U);
        end(0, thread(101));
        begin(0, thread(101));
        wait(5, thread(102));
        EXPECT_EQ(kept(), std::vector<std::uint64_t>{5}) << "nothing is left of earlier runs";
        end(0, thread(101));
    }
}

TEST_F(KeptWaits, a_thread_without_open_runs_forgets_its_waits) {
    begin(0, thread(101));
    wait(50, thread(102));
    begin(0, thread(101));
    EXPECT_EQ(kept().size(), 1);
    end(0, thread(101));
    end(0, thread(101));
    begin(0, thread(101));
    EXPECT_TRUE(kept().empty());
}

TEST_F(KeptWaits, a_run_that_is_open_too_long_does_not_keep_its_thread_from_forgetting) {
    begin(0, thread(101));
    wait(50, thread(102));
    pass(60'000'000'001);
    begin(0, thread(101));
    EXPECT_TRUE(kept().empty());
    EXPECT_EQ(times_of(101).always, 1);
    begin(0, thread(102));
    end(0, thread(102));
    pass(60'000'000'001);
    begin(0, thread(102));
    EXPECT_EQ(times_of(102).always, 0) << "no older run is open";
    EXPECT_EQ(times_of(102).last_begin_ns, kernel.now_ns);
}

TEST_F(KeptWaits, a_wait_has_its_begin_its_class_and_who_ended_it) {
    native_tell_preempt_count(true);
    thread(101).call = SYS_read;
    begin(0, thread(101));
    const std::uint64_t begin_ns = kernel.now_ns;
    wait(50, thread(202));
    const lagtrap_wait& one = times_of(101).waits[0];
    EXPECT_EQ(one.begin_ns, begin_ns);
    EXPECT_EQ(one.wait_class, LAGTRAP_WAIT_INPUT);
    EXPECT_EQ(one.waker, LAGTRAP_WAKER_THREAD);
    EXPECT_EQ(one.waker_pid, 200);
    EXPECT_EQ(one.waker_tid, 202);
    EXPECT_STREQ(one.waker_comm, "thread-202");
}

TEST_F(KeptWaits, a_wait_that_nothing_was_seen_to_end_has_no_waker) {
    native_tell_preempt_count(true);
    begin(0, thread(101));
    for (int i = 0; i < LAGTRAP_KEPT_WAITS; ++i) wait(50, thread(202));
    for (int i = 0; i < LAGTRAP_KEPT_WAITS; ++i) {
        block(thread(101), idle);
        pass(60);
        preempt(idle, thread(101));
    }
    for (const lagtrap_wait& one : times_of(101).waits) {
        EXPECT_EQ(one.length_ns, 60U);
        EXPECT_EQ(one.waker, LAGTRAP_WAKER_UNKNOWN);
        EXPECT_EQ(one.waker_pid + one.waker_tid, 0U);
    }
}

TEST_F(KeptWaits, an_interrupt_is_not_taken_for_the_thread_that_it_hit) {
    native_tell_preempt_count(true);
    const auto waker_with = [this](int preempt_count) {
        begin(0, thread(101));
        thread(202).preempt_count = preempt_count;
        wait(50, thread(202));
        end(0, thread(101));
        const lagtrap_wait& one = times_of(101).waits[0];
        EXPECT_EQ(one.waker_tid == 202, one.waker == LAGTRAP_WAKER_THREAD);
        return one.waker;
    };
    EXPECT_EQ(waker_with(0x10000), LAGTRAP_WAKER_INTERRUPT);
    EXPECT_EQ(waker_with(0x100), LAGTRAP_WAKER_SOFTIRQ);
    EXPECT_EQ(waker_with(0x200), LAGTRAP_WAKER_THREAD);
    EXPECT_EQ(waker_with(static_cast<int>(0x80000001)), LAGTRAP_WAKER_THREAD);
}

TEST_F(KeptWaits, the_idle_thread_wakes_nobody_itself) {
    native_tell_preempt_count(true);
    begin(0, thread(101));
    wait(50, idle);
    EXPECT_EQ(times_of(101).waits[0].waker, LAGTRAP_WAKER_INTERRUPT);
}

TEST_F(KeptWaits, where_the_preempt_count_is_not_known_the_waker_is_not_told) {
    begin(0, thread(101));
    wait(50, thread(202));
    EXPECT_EQ(times_of(101).waits[0].waker, LAGTRAP_WAKER_UNKNOWN);
    EXPECT_EQ(times_of(101).waits[0].waker_tid, 0);
}

TEST_F(KeptWaits, a_delay_is_counted_at_what_took_most_of_its_time) {
    thread(101).call = SYS_futex;
    begin(0, thread(101));
    pass(99);
    wait(150, thread(102));
    end(0, thread(101));
    EXPECT_EQ(counters(0).delays_mostly[int{LAGTRAP_DELAY_BLOCKED} + int{LAGTRAP_WAIT_LOCK}], 1);
    begin(0, thread(101));
    pass(200);
    wait(150, thread(102));
    end(0, thread(101));
    EXPECT_EQ(counters(0).delays_mostly[LAGTRAP_DELAY_ON_CPU], 1);
}

TEST_F(KeptWaits, time_for_want_of_quota_is_apart_from_time_for_want_of_a_cpu) {
    const auto delay = [this](bool throttled) {
        begin(0, thread(101));
        thread(101).throttled = throttled;
        preempt(thread(101), idle);
        pass(200);
        preempt(idle, thread(101));
        end(0, thread(101));
    };
    delay(true);
    EXPECT_EQ(counters(0).delays_mostly[LAGTRAP_DELAY_THROTTLED], 1);
    EXPECT_EQ(counters(0).delays_mostly[LAGTRAP_DELAY_RUNNABLE], 0);
    delay(false);
    EXPECT_EQ(counters(0).delays_mostly[LAGTRAP_DELAY_RUNNABLE], 1);
}

TEST_F(KeptWaits, a_delay_that_begins_a_recording_is_told_with_its_parts_and_waits) {
    thread(101).call = SYS_futex;
    watch.breach_wanted = 1;
    begin(0, thread(101));
    pass(10);
    wait(150, thread(102));
    end(0, thread(101));
    const auto reported =
        take_records<lagtrap_run_so_far>(native_maps.recorded_runs, LAGTRAP_RECORD_RUN_SO_FAR);
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].until_ns - reported[0].from_ns, 160);
    EXPECT_EQ(reported[0].parts.on_cpu_ns, 10);
    EXPECT_EQ(reported[0].parts.blocked_ns[LAGTRAP_WAIT_LOCK], 150);
    EXPECT_EQ(sum_of(reported[0].earlier), 0);
    EXPECT_EQ(reported[0].tid, 101);
    EXPECT_EQ(reported[0].waits[0].length_ns, 150);
}

}  // namespace lagtrap::native
