// Time of runs that pass from thread to thread: what each thread did between two of its own hits.
#include <sys/syscall.h>

#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

class HandedOver : public EventMonitor {
  protected:
    HandedOver() {
        add_event(0, LAGTRAP_EVENT_TIMES | LAGTRAP_EVENT_RECORD_RUNS | LAGTRAP_EVENT_KEY_ARGUMENT);
        for (const std::uint32_t tid : {101, 102}) thread(tid).call = SYS_read;
    }
    void wait(std::uint32_t tid, std::uint64_t blocked_ns) {
        block(thread(tid), idle);
        pass(blocked_ns);
        wake(thread(tid), thread(901));
        preempt(idle, thread(tid));
    }
    const native_thread idle = idle_thread();
    const Hit run{.key = 7};
};

TEST_F(HandedOver, the_time_between_hits_of_two_threads_is_neithers) {
    begin(0, thread(101), run);
    pass(10);
    stage(0, thread(101), 0, run);
    pass(300);
    stage(0, thread(102), 1, run);
    pass(20);
    wait(102, 4000);
    end(0, thread(102), run);
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].parts.on_cpu_ns, 30);
    EXPECT_EQ(reported[0].parts.blocked_ns[LAGTRAP_WAIT_INPUT], 4000);
    EXPECT_EQ(reported[0].handed_over_ns, 300);
    EXPECT_EQ(counters(0).timed_ns, 4030);
    EXPECT_EQ(counters(0).handed_over_ns, 300);
}

TEST_F(HandedOver, a_thread_that_had_the_run_before_begins_anew) {
    begin(0, thread(101), run);
    pass(10);
    stage(0, thread(102), 0, run);
    wait(101, 500);
    stage(0, thread(101), 0, run);
    pass(2);
    end(0, thread(101), run);
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(sum_of(reported[0].parts), 2);
    EXPECT_EQ(reported[0].handed_over_ns, 510);
}

TEST_F(HandedOver, what_a_thread_does_between_runs_of_others_is_counted_for_its_next_hit) {
    begin(0, thread(101), run);
    begin(0, thread(101), {.key = 8});
    end(0, thread(101), {.key = 8});
    wait(101, 500);
    end(0, thread(101), run);
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 2);
    EXPECT_EQ(reported[1].parts.blocked_ns[LAGTRAP_WAIT_INPUT], 500);
}

TEST_F(HandedOver, the_next_run_in_the_slot_has_no_time_of_the_one_before) {
    begin(0, thread(101), run);
    pass(10);
    end(0, thread(102), run);
    begin(0, thread(101), run);
    pass(1);
    end(0, thread(101), run);
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 2);
    EXPECT_EQ(reported[0].handed_over_ns, 10);
    EXPECT_EQ(reported[1].handed_over_ns, 0);
    EXPECT_EQ(sum_of(reported[1].parts), 1);
}

TEST_F(HandedOver, of_two_threads_that_hit_at_once_one_counts) {
    begin(0, thread(101), run);
    pass(10);
    // The first exchange counts the stage, the second takes the time of the last hit.
    kernel.before_exchange = [this] { meanwhile([this] { stage(0, thread(102), 0, run); }); };
    stage(0, thread(101), 0, run);
    pass(5);
    end(0, thread(102), run);
    const auto reported = take_reports();
    ASSERT_EQ(reported.size(), 1);
    EXPECT_EQ(reported[0].handed_over_ns, 10);
    EXPECT_EQ(sum_of(reported[0].parts), 5);
    EXPECT_EQ(reported[0].run.stage_count, 2);
}

}  // namespace lagtrap::native
