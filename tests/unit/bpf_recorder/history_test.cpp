// The history of the last seconds, which is written while nothing is recorded.
#include "tests/unit/bpf_recorder/recorder.hpp"

namespace lagtrap::native::history_test {

namespace {

constexpr std::uint64_t second = 1000 * ms;
constexpr std::uint64_t interval_ns = 10 * ms;

class History : public Recorder {
  protected:
    History() {
        recording.on = 0;
        recording.history = 1;
        recording.history_interval_ns = interval_ns;
        kernel_.now_ns = 100 * second;
        registers_.ip = 0x401000;
        kernel_.stack = {0xffffffff81000001, 0xffffffff81000002};
        std::strcpy(task(100).task.comm, "shop");
        task(101).task.group_leader = &task(100).task;
    }
    // The thread has so many open runs; the last began at this time.
    void in_run(std::uint32_t tid, std::uint64_t begin_ns, std::int32_t open = 1) {
        const std::uint32_t set = (tid * 0x9e3779b1U) >> 21;
        kernel_.at<lagtrap_timed_set>(recorder_maps.timed_sets, set).tids[0] = tid;
        auto& times =
            kernel_.at<lagtrap_thread_times>(recorder_maps.thread_times, set * LAGTRAP_TIMED_WAYS);
        times.open = open;
        times.last_begin_ns = begin_ns;
    }
    void tick() { on_tick(nullptr); }
    std::size_t samples() { return take(LAGTRAP_RECORD_HISTORY_SAMPLE).size(); }
    void stop(int tid = 101, bool preempted = false, unsigned int state = interruptible) {
        select(tid);
        on_switch(preempted, &task(tid).task, &task(201).task, state);
    }
    // It is woken by this thread; the record's end is 0 if there is none.
    lagtrap_history_wait wake(int waker = 201, int tid = 101) {
        if (waker == 0)
            select_idle();
        else
            select(waker);
        on_waking(&task(tid).task);
        const auto found = take<lagtrap_history_wait>(LAGTRAP_RECORD_HISTORY_WAIT);
        return found.empty() ? lagtrap_history_wait{} : found[0];
    }
    bool is_recorded(std::uint64_t waited_ns) {
        stop();
        kernel_.now_ns += waited_ns;
        return wake().header.at_ns != 0;
    }
};

TEST_F(History, has_a_sample_of_each_cpu_at_most_once_in_an_interval) {
    select(101);
    tick();
    const auto found = take<lagtrap_history_sample>(LAGTRAP_RECORD_HISTORY_SAMPLE);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].pid, 100U);
    EXPECT_EQ(found[0].tid, 101U);
    EXPECT_STREQ(found[0].comm, "thread-101");
    EXPECT_STREQ(found[0].process, "shop");
    EXPECT_NE(found[0].user_stack_id, 0U);
    EXPECT_EQ(found[0].header.at_ns, kernel_.now_ns);
    EXPECT_EQ(found[0].header.cpu, 0U);
    kernel_.now_ns += interval_ns - 1;
    tick();
    EXPECT_EQ(samples(), 0U);
    kernel_.cpu = 1;
    tick();
    EXPECT_EQ(samples(), 1U);
    EXPECT_EQ(counters().history_samples, 1U) << "of this CPU";
    kernel_.cpu = 0;
    kernel_.now_ns += 1;
    tick();
    EXPECT_EQ(samples(), 1U);
    EXPECT_EQ(counters().history_samples, 2U);
}

TEST_F(History, has_no_samples_of_idle_cpus_or_during_recordings) {
    select_idle();
    tick();
    EXPECT_EQ(samples(), 0U);
    select(101);
    recording.on = 1;
    tick();
    EXPECT_EQ(samples(), 0U);
    recording.on = 0;
    recording.history = 0;
    tick();
    EXPECT_EQ(samples(), 0U);
    recording.history = 1;
    tick();
    EXPECT_EQ(samples(), 1U);
}

TEST_F(History, threads_of_the_kernel_have_no_user_stack) {
    task(101).task.flags = 0x00200000;
    select(101);
    tick();
    const auto found = take<lagtrap_history_sample>(LAGTRAP_RECORD_HISTORY_SAMPLE);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].user_stack_id, 0U);
}

TEST_F(History, counts_what_does_not_fit_and_calls_the_daemon_once_a_second) {
    const auto turns = [&] { return kernel_.take_records(recorder_maps.history_turns).size(); };
    select(101);
    tick();
    EXPECT_EQ(turns(), 1U);
    EXPECT_EQ(counters().history_lost, 0U);
    kernel_.now_ns += second - 1;
    fill_ring();
    tick();
    EXPECT_EQ(counters().history_lost, 1U);
    EXPECT_EQ(turns(), 0U);
    kernel_.now_ns += interval_ns;
    tick();
    EXPECT_EQ(turns(), 1U) << "even if the record is lost";
}

TEST_F(History, has_waits_of_threads_in_runs) {
    in_run(101, kernel_.now_ns - 5);
    stop();
    const std::uint64_t begin_ns = kernel_.now_ns;
    kernel_.now_ns += 50'000;
    const lagtrap_history_wait found = wake();
    EXPECT_EQ(found.begin_ns, begin_ns);
    EXPECT_EQ(found.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(found.pid, 100U);
    EXPECT_EQ(found.tid, 101U);
    EXPECT_EQ(found.waker_pid, 200U);
    EXPECT_EQ(found.waker_tid, 201U);
    EXPECT_EQ(found.in_run, 1U);
    EXPECT_STREQ(found.comm, "thread-101");
    EXPECT_STREQ(found.process, "shop");
    const __u64 frames[] = {0xffffffff81000001, 0xffffffff81000002}, pc = 0x401000;
    EXPECT_EQ(found.kernel_stack_id, native_stack_id(0, true, frames, 2));
    EXPECT_EQ(found.user_stack_id, native_stack_id(100, false, &pc, 1));
    EXPECT_EQ(counters().history_waits, 1U);
    EXPECT_EQ(wake().header.at_ns, 0U) << "it is over";
}

TEST_F(History, leaves_out_short_waits) {
    in_run(101, kernel_.now_ns);
    EXPECT_FALSE(is_recorded(49'999));
    EXPECT_TRUE(is_recorded(50'000));
    in_run(101, kernel_.now_ns, 0);
    task(101).task.in_iowait = 1;
    EXPECT_FALSE(is_recorded(ms - 1));
    EXPECT_TRUE(is_recorded(ms));
}

TEST_F(History, has_waits_outside_of_runs_only_for_disks) {
    EXPECT_FALSE(is_recorded(second));
    in_run(101, kernel_.now_ns, 0);
    EXPECT_FALSE(is_recorded(second));
    EXPECT_EQ(counters().history_waits, 0U);
    task(101).task.in_iowait = 1;
    stop();
    kernel_.now_ns += 5 * ms;
    EXPECT_EQ(wake().in_run, 0U);
    EXPECT_EQ(counters().history_waits, 1U);
}

TEST_F(History, forgets_runs_that_have_been_open_for_a_minute) {
    in_run(101, kernel_.now_ns);
    kernel_.now_ns += 60 * second - 60'000;
    EXPECT_TRUE(is_recorded(50'000));
    EXPECT_EQ(counters().history_waits, 1U);
    kernel_.now_ns += 10'000;
    EXPECT_FALSE(is_recorded(50'000));
    EXPECT_EQ(counters().history_waits, 1U) << "it does not begin";
}

TEST_F(History, says_why_the_walk_of_a_stack_ended) {
    select(101);
    tick();
    const auto stacks = take<lagtrap_stack>(LAGTRAP_RECORD_STACK);
    ASSERT_EQ(stacks.size(), 1U);
    EXPECT_EQ(stacks[0].kind, LAGTRAP_STACK_USER);
    EXPECT_EQ(stacks[0].end, LAGTRAP_STACK_END_NO_PROCESS);
    EXPECT_EQ(stacks[0].pid, 100U);
    EXPECT_EQ(stacks[0].header.at_ns, kernel_.now_ns);
}

TEST_F(History, copies_no_stacks) {
    copying.budget_bytes = 1 << 20;
    select(101);
    tick();
    in_run(101, kernel_.now_ns);
    EXPECT_TRUE(is_recorded(50'000));
    EXPECT_TRUE(kernel_.take_records(recorder_maps.stack_copies).empty());
    EXPECT_EQ(copying.left_out, 0U);
}

TEST_F(History, begins_waits_where_threads_block) {
    in_run(101, kernel_.now_ns);
    stop(101, true, interruptible);
    kernel_.now_ns += ms;
    EXPECT_EQ(wake().header.at_ns, 0U) << "it was preempted";
    stop(101, false, 0);
    kernel_.now_ns += ms;
    EXPECT_EQ(wake().header.at_ns, 0U) << "it could run";
    recording.history = 0;
    EXPECT_FALSE(is_recorded(ms));
    EXPECT_EQ(counters().history_waits, 0U);
    recording.history = 1;
    EXPECT_TRUE(is_recorded(ms));
    EXPECT_EQ(counters().history_waits, 1U);
}

TEST_F(History, of_threads_of_the_kernel_has_only_the_stack_of_the_kernel) {
    in_run(101, kernel_.now_ns);
    task(101).task.flags = 0x00200000;
    stop();
    kernel_.now_ns += ms;
    const lagtrap_history_wait found = wake();
    EXPECT_NE(found.kernel_stack_id, 0U);
    EXPECT_EQ(found.user_stack_id, 0U);
}

TEST_F(History, has_the_stack_of_who_woke_a_thread_of_a_run) {
    struct RunQueue {
        char before[64];
        int preempt_count;
    } run_queue{};
    native_set_preempt_count_place(offsetof(RunQueue, preempt_count));
    task(201).queue.rq = task(0).queue.rq = reinterpret_cast<kernel::rq*>(&run_queue);
    in_run(101, kernel_.now_ns);
    stop();
    kernel_.now_ns += ms;
    const __u64 pc = 0x401000;
    EXPECT_EQ(wake().waker_user_stack_id, native_stack_id(200, false, &pc, 1));
    stop();
    kernel_.now_ns += ms;
    EXPECT_EQ(wake(0).by_interrupt, 1U) << "an idle CPU wakes nobody itself";
    in_run(101, kernel_.now_ns, 0);
    task(101).task.in_iowait = 1;
    stop();
    kernel_.now_ns += 5 * ms;
    const lagtrap_history_wait of_disk = wake();
    EXPECT_STREQ(of_disk.waker, "thread-201");
    EXPECT_EQ(of_disk.waker_user_stack_id, 0U);
}

TEST_F(History, knows_whether_an_interrupt_ended_the_wait) {
    in_run(101, kernel_.now_ns);
    stop();
    kernel_.now_ns += ms;
    lagtrap_history_wait found = wake(0);
    EXPECT_EQ(found.by_interrupt, 1U);
    EXPECT_STREQ(found.waker, "");
    stop();
    kernel_.now_ns += ms;
    EXPECT_EQ(wake().by_interrupt, 1U) << "the level is unknown";
    struct RunQueue {
        char before[64];
        int preempt_count;
    } run_queue{};
    native_set_preempt_count_place(offsetof(RunQueue, preempt_count));
    task(201).queue.rq = reinterpret_cast<kernel::rq*>(&run_queue);
    stop();
    kernel_.now_ns += ms;
    found = wake();
    EXPECT_EQ(found.by_interrupt, 0U);
    EXPECT_STREQ(found.waker, "thread-201");
    EXPECT_NE(found.waker_user_stack_id, 0U);
    run_queue.preempt_count = 0x100;
    stop();
    kernel_.now_ns += ms;
    EXPECT_EQ(wake().by_interrupt, 1U);
    run_queue.preempt_count = 0;
    stop();
    kernel_.now_ns += ms - 1;
    EXPECT_EQ(wake().waker_user_stack_id, 0U) << "for long waits only";
    task(201).task.flags = 0x00200000;
    stop();
    kernel_.now_ns += ms;
    EXPECT_EQ(wake().waker_user_stack_id, 0U) << "a thread of the kernel has none";
}

TEST_F(History, walks_a_thousand_stacks_in_a_second_and_as_many_at_once) {
    in_run(101, kernel_.now_ns);
    const auto has_stacks = [&] {
        stop();
        kernel_.now_ns += 50'000;
        return wake().kernel_stack_id != 0;
    };
    int walked = 0;
    while (has_stacks() && walked < 2000) ++walked;
    // In the meantime, 50 ms and more passed, in which further ones became due.
    EXPECT_GE(walked, 1000);
    EXPECT_LE(walked, 1060);
    kernel_.now_ns += 10 * ms;
    int more = 0;
    while (has_stacks() && more < 100) ++more;
    EXPECT_GE(more, 9);
    EXPECT_LE(more, 12);
}

}  // namespace

}  // namespace lagtrap::native::history_test
