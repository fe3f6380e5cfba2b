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

  private:
    void switch_threads(bool preempted, std::uint32_t prev, std::uint32_t next) {
        kernel.current = &thread(prev);
        native_queue_switch(preempted, &thread(prev), &thread(next));
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
    EXPECT_EQ(open_runs(), 0);
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

TEST_F(RunQueue, a_thread_that_blocks_waits_for_no_cpu) {
    block(101, 201);
    EXPECT_EQ(open_runs(), 0);
}

}  // namespace lagtrap::native
