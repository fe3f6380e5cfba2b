// Events whose runs are waits for a CPU.
#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

constexpr std::uint64_t ms = 1'000'000;

class RunQueue : public EventMonitor {
  protected:
    void SetUp() override {
        add_event(0).threshold_ns = 10 * ms;
        native_watch_run_queue(0);
    }
    void preempt(std::uint32_t prev, std::uint32_t next) { switch_threads(true, prev, next); }
    void block(std::uint32_t prev, std::uint32_t next) { switch_threads(false, prev, next); }
    void start(std::uint32_t tid) { native_queue_new(&thread(tid)); }
    // Waits of the thread that the event counts.
    std::uint64_t waits_of(std::uint32_t tid) {
        const std::uint64_t before = runs(0);
        start(tid);
        block(901, tid);
        return runs(0) - before;
    }

  private:
    void switch_threads(bool preempted, std::uint32_t prev, std::uint32_t next) {
        kernel.current = &thread(prev);
        native_queue_switch(preempted, &thread(prev), &thread(next), preempted ? 0 : interruptible);
    }
};

TEST_F(RunQueue, a_wait_lasts_from_when_a_thread_can_run_until_it_runs) {
    start(101);
    pass(4 * ms);
    block(201, 101);
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(counters(0).max_ns, 4 * ms);
    EXPECT_EQ(counters(0).runnable_ns, 4 * ms);
    EXPECT_EQ(counters(0).delays, 0);
    pass(50 * ms);
    preempt(101, 201);
    pass(20 * ms);
    block(201, 101);
    EXPECT_EQ(runs(0), 2);
    EXPECT_EQ(counters(0).max_ns, 20 * ms) << "it ran before that";
    EXPECT_EQ(counters(0).delays, 1);
    EXPECT_EQ(counters(0).delays_mostly[LAGTRAP_DELAY_RUNNABLE], 1);
    EXPECT_EQ(counters(0).delays_mostly[LAGTRAP_DELAY_NOT_KNOWN], 0);
    EXPECT_EQ(counters(0).timed_ns, 24 * ms);
    EXPECT_EQ(open_runs(), 0);
}

// The tracepoint has the state with which it called the scheduler.
TEST_F(RunQueue, a_thread_woken_while_it_leaves_its_cpu_waits) {
    constexpr std::uint32_t being_woken = 0x200;
    for (const std::uint32_t state : {0U, being_woken}) {
        const std::uint64_t before = runs(0);
        thread(101).woken_early = true;
        thread(101).woken_state = state;
        block(101, 201);
        EXPECT_EQ(open_runs(), 1) << state;
        pass(4 * ms);
        thread(101).woken_early = false;
        block(201, 101);
        EXPECT_EQ(runs(0), before + 1);
        EXPECT_EQ(counters(0).max_ns, 4 * ms);
    }
    block(101, 201);
    EXPECT_EQ(open_runs(), 0) << "nobody has woken it";
}

// Some kernels leave out two switches in a thousand. The time until the next one is no wait.
TEST_F(RunQueue, a_wait_whose_end_was_not_seen_is_none) {
    start(101);
    pass(4 * ms);
    block(101, 201);
    EXPECT_EQ(open_runs(), 0);
    EXPECT_EQ(counters(0).markers[LAGTRAP_PLACE_BEGIN].unmatched, 1);
    EXPECT_EQ(counters(0).unended_late, 0);
    start(101);
    pass(11 * ms);
    preempt(101, 201);
    EXPECT_EQ(counters(0).markers[LAGTRAP_PLACE_BEGIN].unmatched, 2);
    EXPECT_EQ(counters(0).unended_late, 1);
    pass(ms);
    block(201, 101);
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(counters(0).max_ns, ms);
}

TEST_F(RunQueue, a_thread_that_waits_already_goes_on_waiting) {
    preempt(101, 201);
    pass(4 * ms);
    start(101);
    EXPECT_EQ(open_runs(), 1);
    pass(3 * ms);
    block(201, 101);
    EXPECT_EQ(runs(0), 1);
    EXPECT_EQ(counters(0).max_ns, 7 * ms);
    EXPECT_EQ(open_runs(), 0);
}

TEST_F(RunQueue, a_woken_thread_waits_if_it_has_left_its_cpu) {
    thread(101).on_cpu = true;
    native_queue_wakeup(&thread(101));
    EXPECT_EQ(open_runs(), 0);
    kernel.missing.insert("queued->on_cpu");
    native_queue_wakeup(&thread(101));
    EXPECT_EQ(open_runs(), 1);
    thread(102).on_cpu = false;
    kernel.missing.clear();
    native_queue_wakeup(&thread(102));
    EXPECT_EQ(open_runs(), 2);
    native_queue_wakeup(&thread(0));
    EXPECT_EQ(open_runs(), 2) << "a CPU's idle thread never waits";
}

TEST_F(RunQueue, a_thread_that_yields_or_is_preempted_before_it_sleeps_waits) {
    native_queue_switch(false, &thread(101), &thread(201), 0);
    EXPECT_EQ(open_runs(), 1);
    native_queue_switch(true, &thread(102), &thread(201), interruptible);
    EXPECT_EQ(open_runs(), 2);
}

TEST_F(RunQueue, waits_are_of_threads_in_scope) {
    lagtrap_event_config& config = add_event(0, LAGTRAP_EVENT_SCOPE_PID);
    config.scope_pid = 100;
    EXPECT_EQ(waits_of(101), 1);
    EXPECT_EQ(waits_of(201), 0);
    EXPECT_EQ(counters(0).out_of_scope, 1);
    config.flags = LAGTRAP_EVENT_SCOPE_UID;
    config.scope_uid = 2000;
    thread(201).uid = 2000;
    EXPECT_EQ(waits_of(101), 0);
    EXPECT_EQ(waits_of(201), 1);
    config.flags = LAGTRAP_EVENT_SCOPE_PROGRAM;
    config.scope_inode = 12;
    config.scope_device = 3;
    thread(101).program_inode = 12;
    thread(101).program_device = 3;
    EXPECT_EQ(waits_of(101), 1);
    EXPECT_EQ(waits_of(201), 0);
    config.flags = LAGTRAP_EVENT_SCOPE_GROUP;
    const lagtrap_scoped_group ours{77, 0, 0};
    const std::uint8_t any = 1;
    ASSERT_EQ(native_update(native_maps.scoped_groups, &ours, &any), 0);
    thread(201).group = 77;
    EXPECT_EQ(waits_of(101), 0);
    EXPECT_EQ(waits_of(201), 1);
    config.flags = LAGTRAP_EVENT_OFF;
    EXPECT_EQ(waits_of(201), 0);
}

TEST_F(RunQueue, waits_are_counted_with_their_party_and_their_cost) {
    start(101);
    EXPECT_EQ(counters(0).seen.parties[0], 1001U);
    block(201, 101);
    EXPECT_EQ(counters(0).timed_ns, counters(0).runnable_ns);
    EXPECT_EQ(counters(0).costs[0], 2U);
    EXPECT_EQ(counters(0).markers[LAGTRAP_PLACE_BEGIN].hits, 1U);
    EXPECT_EQ(counters(0).markers[LAGTRAP_PLACE_BEGIN].last_ns, kernel.now_ns);
    EXPECT_EQ(counters(0).markers[LAGTRAP_PLACE_END].last_ns, kernel.now_ns);
    for (int i = 1; i < LAGTRAP_COST_EVERY; ++i) waits_of(101);
    EXPECT_EQ(counters(0).costs[0], 2U) << "the cost of one in 64 is counted";
    watch.recording = 1;
    for (int i = 0; i < LAGTRAP_COST_EVERY; ++i) waits_of(101);
    EXPECT_EQ(counters(0).costs[0], 2U) << "a recording costs more";
    watch.recording = 0;
    kernel.at_clock = [this] {
        kernel.at_clock = [this] { kernel.at_clock = [this] { pass(3'600'000 * ms); }; };
    };
    start(101);
    EXPECT_EQ(counters(0).costs[LAGTRAP_COST_BUCKETS - 1], 1U) << "it was interrupted";
}

TEST_F(RunQueue, waits_are_recorded_with_the_thread_that_waited) {
    watch.recording = 1;
    thread(101).uid = 2000;
    const std::uint64_t begin_ns = kernel.now_ns;
    start(101);
    pass(20 * ms);
    block(201, 101);
    const auto found = take_records<lagtrap_run>(native_maps.recorded_runs, LAGTRAP_RECORD_RUN);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].begin_ns, begin_ns);
    EXPECT_EQ(found[0].end_ns, kernel.now_ns);
    EXPECT_EQ(found[0].begin_pid, 100U);
    EXPECT_EQ(found[0].begin_tid, 101U);
    EXPECT_EQ(found[0].end_pid, 100U);
    EXPECT_EQ(found[0].end_tid, 101U);
    EXPECT_EQ(found[0].begin_party, 2000U);
    EXPECT_STREQ(found[0].comm, "") << "another thread is on the CPU";
    EXPECT_EQ(found[0].flags, LAGTRAP_RUN_DELAY);
}

TEST_F(RunQueue, a_thread_that_blocks_waits_for_no_cpu) {
    block(101, 201);
    EXPECT_EQ(open_runs(), 0);
}

}  // namespace lagtrap::native
