// Context switches, samples, threads and what is copied when processes fork.
#include <linux/futex.h>

#include <set>

#include "tests/unit/bpf_recorder/files.hpp"

namespace lagtrap::native::switches_test {

namespace {

constexpr std::uint64_t call_yield = 24, call_futex = 202;
constexpr std::uint64_t a_lock = 0x7f0000002000;

class Switches : public Recorder {
  protected:
    Switches() {
        registers_.ip = 0x401000;
        kernel_.stack = {0xffffffff81000001};
    }
    std::vector<lagtrap_switch> all_of_switch(int prev, int next,
                                              unsigned int state = interruptible,
                                              bool preempted = false) {
        select(prev);
        on_switch(preempted, &task(prev).task, &task(next).task, state);
        return take<lagtrap_switch>(LAGTRAP_RECORD_SWITCH);
    }
    lagtrap_switch switch_to(int prev, int next, unsigned int state = interruptible,
                             bool preempted = false) {
        const auto found = all_of_switch(prev, next, state, preempted);
        return found.empty() ? lagtrap_switch{} : found.back();
    }
    lagtrap_thread visit(int tid) {
        kernel::bpf_iter__task context{nullptr, &task(tid).task};
        on_thread(&context);
        const auto found = take<lagtrap_thread>(LAGTRAP_RECORD_THREAD);
        return found.empty() ? lagtrap_thread{} : found[0];
    }
};

TEST_F(Switches, have_both_threads_and_the_stacks_of_the_one_that_stops) {
    kernel_.cpu = 2;
    task(101).task.prio = 98;
    task(101).task.policy = 1;
    task(201).task.prio = 139;
    task(201).task.policy = 3;
    const lagtrap_switch found = switch_to(101, 201, uninterruptible);
    EXPECT_EQ(found.header.size_bytes, LAGTRAP_SWITCH_LEAST_BYTES);
    EXPECT_EQ(found.header.cpu, 2);
    EXPECT_EQ(found.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(found.prev_pid, 100U);
    EXPECT_EQ(found.prev_tid, 101U);
    EXPECT_EQ(found.prev_priority, 98U);
    EXPECT_EQ(found.prev_policy, 1);
    EXPECT_EQ(found.prev_state, uninterruptible);
    EXPECT_EQ(found.next_pid, 200U);
    EXPECT_EQ(found.next_tid, 201U);
    EXPECT_EQ(found.next_priority, 139U);
    EXPECT_EQ(found.next_policy, 3);
    EXPECT_EQ(found.flags, 0);
    const __u64 frame = 0xffffffff81000001, pc = 0x401000;
    EXPECT_EQ(found.kernel_stack_id, native_stack_id(0, true, &frame, 1));
    EXPECT_EQ(found.user_stack_id, native_stack_id(100, false, &pc, 1));
    EXPECT_EQ(counters().switches, 1U);
    recording.on = 0;
    EXPECT_TRUE(all_of_switch(101, 201).empty());
}

TEST_F(Switches, of_threads_that_can_run_have_no_stacks) {
    lagtrap_switch found = switch_to(101, 201, interruptible, true);
    EXPECT_EQ(found.prev_state, 0U);
    EXPECT_EQ(found.kernel_stack_id, 0U);
    EXPECT_EQ(found.user_stack_id, 0U);
    found = switch_to(101, 201, 0);
    EXPECT_EQ(found.kernel_stack_id, 0U);
    task(0).task.tgid = 0;
    found = switch_to(0, 201);
    EXPECT_EQ(found.kernel_stack_id, 0U) << "the idle thread";
    EXPECT_EQ(found.user_stack_id, 0U);
}

TEST_F(Switches, have_no_user_stacks_where_there_are_none_or_none_are_wanted) {
    recording.without_user_stacks_of_switches = 1;
    lagtrap_switch found = switch_to(101, 201);
    EXPECT_EQ(found.user_stack_id, 0U);
    EXPECT_NE(found.kernel_stack_id, 0U);
    recording.without_user_stacks_of_switches = 0;
    task(101).task.flags = 0x00200000;
    found = switch_to(101, 201);
    EXPECT_EQ(found.user_stack_id, 0U);
    EXPECT_NE(found.kernel_stack_id, 0U);
    task(101).task.flags = 0;
    EXPECT_NE(switch_to(101, 201).user_stack_id, 0U);
}

TEST_F(Switches, of_threads_that_yield_have_a_stack_each_millisecond) {
    in_call(call_yield);
    lagtrap_switch found = switch_to(101, 201, 0);
    EXPECT_EQ(found.flags, LAGTRAP_SWITCH_PREV_YIELDED);
    EXPECT_NE(found.user_stack_id, 0U);
    kernel_.now_ns += ms - 1;
    found = switch_to(101, 201, 0);
    EXPECT_EQ(found.flags, LAGTRAP_SWITCH_PREV_YIELDED);
    EXPECT_EQ(found.user_stack_id, 0U);
    kernel_.now_ns += 1;
    EXPECT_NE(switch_to(101, 201, 0).user_stack_id, 0U);
    kernel_.now_ns += ms;
    recording.without_user_stacks_of_switches = 1;
    EXPECT_EQ(switch_to(101, 201, 0).user_stack_id, 0U) << "none are wanted";
    registers_.cs = 0x23;
    EXPECT_EQ(switch_to(101, 201, 0).flags, 0) << "the number of another call";
}

TEST_F(Switches, that_are_lost_are_counted) {
    fill_ring();
    select(101);
    on_switch(false, &task(101).task, &task(201).task, interruptible);
    EXPECT_EQ(counters().switches, 1U);
    EXPECT_EQ(counters().switches_lost, 1U);
    EXPECT_EQ(counters().stacks_lost, 2U);
    EXPECT_EQ(counters().stacks, 0U);
}

TEST_F(Switches, write_each_stack_once_in_a_capture) {
    const auto stacks = [&] {
        select(101);
        on_switch(false, &task(101).task, &task(201).task, interruptible);
        return take<lagtrap_stack>(LAGTRAP_RECORD_STACK);
    };
    const auto first = stacks();
    ASSERT_EQ(first.size(), 2U);
    const __u64 frame = 0xffffffff81000001;
    EXPECT_EQ(first[0].stack_id, native_stack_id(0, true, &frame, 1));
    EXPECT_EQ(first[0].kind, LAGTRAP_STACK_KERNEL);
    EXPECT_EQ(first[0].end, LAGTRAP_STACK_END_UNKNOWN);
    EXPECT_EQ(first[0].pid, 0U);
    EXPECT_EQ(first[0].frame_count, 1);
    EXPECT_EQ(first[0].header.size_bytes, sizeof(lagtrap_stack) + 8);
    EXPECT_EQ(first[1].kind, LAGTRAP_STACK_USER);
    EXPECT_EQ(first[1].pid, 100U);
    EXPECT_EQ(first[1].end, LAGTRAP_STACK_END_NO_PROCESS);
    EXPECT_EQ(counters().stacks, 2U);
    EXPECT_TRUE(stacks().empty());
    for (unsigned int capture = 2; capture <= 3; ++capture) {
        recording.capture = capture;
        EXPECT_EQ(stacks().size(), 2U);
        EXPECT_TRUE(stacks().empty());
    }
}

TEST_F(Switches, that_were_not_seen_are_concluded_from_the_time_a_thread_ran) {
    switch_to(101, 201);
    const std::uint64_t seen_ns = kernel_.now_ns;
    kernel_.now_ns += 10 * ms;
    kernel::task_struct& unseen = task(301).task;
    unseen.se.sum_exec_runtime = 7 * ms;
    unseen.se.prev_sum_exec_runtime = 4 * ms;
    unseen.prio = 125;
    unseen.policy = 3;
    auto found = all_of_switch(301, 401);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].flags, LAGTRAP_SWITCH_CONCLUDED);
    EXPECT_EQ(found[0].header.size_bytes, LAGTRAP_SWITCH_LEAST_BYTES);
    EXPECT_EQ(found[0].header.at_ns, kernel_.now_ns - 3 * ms);
    EXPECT_EQ(found[0].prev_pid, 200U);
    EXPECT_EQ(found[0].prev_tid, 201U);
    EXPECT_EQ(found[0].prev_priority, 120U);
    EXPECT_EQ(found[0].prev_state, 1U);
    EXPECT_EQ(found[0].next_pid, 300U);
    EXPECT_EQ(found[0].next_tid, 301U);
    EXPECT_EQ(found[0].next_priority, 125U);
    EXPECT_EQ(found[0].next_policy, 3);
    EXPECT_EQ(found[0].prev_policy, 0);
    EXPECT_EQ(found[0].kernel_stack_id + found[0].user_stack_id, 0U);
    EXPECT_EQ(all_of_switch(401, 201).size(), 1U) << "it was seen";
    // It did not run longer than since the last switch.
    kernel_.now_ns = seen_ns + 20 * ms;
    switch_to(201, 401);
    const std::uint64_t last_ns = kernel_.now_ns;
    kernel_.now_ns += 3 * ms;
    found = all_of_switch(301, 401);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].header.at_ns, last_ns + 1);
}

TEST_F(Switches, are_concluded_for_normal_policies_and_within_a_capture) {
    for (const auto& [policy, count] : {std::pair(0U, 2U), std::pair(1U, 1U), std::pair(2U, 1U),
                                        std::pair(3U, 2U), std::pair(5U, 2U), std::pair(6U, 1U)}) {
        switch_to(101, 201);
        task(301).task.policy = policy;
        EXPECT_EQ(all_of_switch(301, 101).size(), count) << policy;
    }
    task(301).task.policy = 0;
    recording.capture = 2;
    EXPECT_EQ(all_of_switch(301, 101).size(), 1U);
    task(0).task.tgid = 0;
    switch_to(101, 201);
    EXPECT_EQ(all_of_switch(0, 101).size(), 1U);
    kernel_.cpu = 1;
    EXPECT_EQ(all_of_switch(301, 101).size(), 1U) << "of another CPU";
}

TEST_F(Switches, name_the_lock_for_which_a_thread_waits_and_its_owner) {
    in_call(call_futex, a_lock, FUTEX_WAIT_PRIVATE);
    kernel_.user_words[a_lock] = 2;
    kernel_.user_words[a_lock + 8] = 305;
    EXPECT_EQ(switch_to(101, 201).lock_owner, 0U) << "not all of its memory can be read";
    kernel_.user_words[a_lock + 16] = 0;
    const lagtrap_switch found = switch_to(101, 201);
    EXPECT_EQ(found.header.size_bytes, sizeof(lagtrap_switch));
    EXPECT_NE(found.wait_object, 0U);
    EXPECT_EQ(found.lock_owner, 305U);
    EXPECT_EQ(switch_to(101, 201, 0).wait_object, 0U);
    // A thread that sleeps already when the recording begins.
    task(101).task.__state = interruptible;
    EXPECT_EQ(visit(101).wait_object, found.wait_object);
    EXPECT_EQ(visit(101).lock_owner, 305U);
    task(101).task.__state = 0;
    EXPECT_EQ(visit(101).wait_object, 0U);
    EXPECT_EQ(visit(101).lock_owner, 0U);
    in_call(call_futex, a_lock + 4, FUTEX_WAIT_PRIVATE);
    EXPECT_EQ(switch_to(101, 201).wait_object, found.wait_object);
}

// A process in a pid namespace, whose threads have other numbers inside.
TEST_F(Switches, name_owners_of_locks_by_their_number_on_this_machine) {
    struct Numbers {
        kernel::pid pid;
        kernel::upid inner;
    } own{}, of_owner{};
    own.pid.level = of_owner.pid.level = 1;
    of_owner.inner.nr = 7;
    task(101).task.thread_pid = &own.pid;
    task(105).task.thread_pid = &of_owner.pid;
    in_call(call_futex, a_lock, FUTEX_WAIT_PRIVATE);
    kernel_.user_words[a_lock] = 2;
    kernel_.user_words[a_lock + 8] = 7;
    kernel_.user_words[a_lock + 16] = 0;
    EXPECT_EQ(switch_to(101, 201).lock_owner, 0U) << "that number is not known";
    visit(105);
    EXPECT_EQ(switch_to(101, 201).lock_owner, 105U);
    kernel_.user_words[a_lock + 8] = 8;
    EXPECT_EQ(switch_to(101, 201).lock_owner, 0U);
    // A thread that begins during the recording.
    of_owner.inner.nr = 8;
    task(106).task.thread_pid = &of_owner.pid;
    on_fork(&task(101).task, &task(106).task);
    EXPECT_EQ(switch_to(101, 201).lock_owner, 106U);
    recording.on = 0;
    of_owner.inner.nr = 9;
    on_fork(&task(101).task, &task(106).task);
    recording.on = 1;
    kernel_.user_words[a_lock + 8] = 9;
    EXPECT_EQ(switch_to(101, 201).lock_owner, 0U);
    of_owner.pid.level = 33;
    visit(105);
    EXPECT_EQ(switch_to(101, 201).lock_owner, 0U);
}

class Throttling : public Switches {
  protected:
    Throttling() { quotas_seen = true; }
    static constexpr std::uint64_t no_quota = ~0ULL;
};

TEST_F(Throttling, is_of_normal_threads_whose_group_is_over_its_quota) {
    Task& one = task(101);
    EXPECT_FALSE(native_is_throttled(&one.task));
    one.queue.throttle_count = 1;
    EXPECT_TRUE(native_is_throttled(&one.task));
    one.task.prio = 100;
    EXPECT_TRUE(native_is_throttled(&one.task));
    one.task.prio = 99;
    EXPECT_FALSE(native_is_throttled(&one.task));
    one.task.prio = 120;
    kernel_.missing.insert("queue->throttle_count");
    EXPECT_FALSE(native_is_throttled(&one.task));
}

TEST_F(Throttling, of_a_thread_that_is_preempted_is_told) {
    task(101).queue.throttle_count = 1;
    EXPECT_EQ(switch_to(101, 201, 0).flags, LAGTRAP_SWITCH_PREV_THROTTLED);
    EXPECT_EQ(switch_to(101, 201).flags, 0) << "it blocked";
    quotas_seen = false;
    EXPECT_EQ(switch_to(101, 201, 0).flags, 0);
}

TEST_F(Throttling, lasts_from_when_it_was_seen_until_a_thread_of_the_queue_runs) {
    task(101).queue.throttle_count = 1;
    const std::uint64_t from_ns = kernel_.now_ns;
    switch_to(101, 201, 0);
    kernel_.now_ns += 5 * ms;
    switch_to(101, 201, 0);
    on_wakeup(&task(101).task);
    kernel_.now_ns += 5 * ms;
    lagtrap_switch found = switch_to(201, 101);
    EXPECT_EQ(found.header.size_bytes, LAGTRAP_SWITCH_THROTTLED_BYTES);
    EXPECT_EQ(found.throttled_from_ns, from_ns);
    EXPECT_EQ(found.throttled_to_ns, kernel_.now_ns) << "so far";
    kernel_.now_ns += ms;
    task(101).queue.throttle_count = 0;
    const std::uint64_t to_ns = kernel_.now_ns;
    EXPECT_EQ(switch_to(201, 101).throttled_to_ns, to_ns);
    kernel_.now_ns += ms;
    found = switch_to(201, 101);
    EXPECT_EQ(found.throttled_from_ns, from_ns);
    EXPECT_EQ(found.throttled_to_ns, to_ns) << "it is over";
    EXPECT_EQ(switch_to(101, 201).header.size_bytes, LAGTRAP_SWITCH_LEAST_BYTES) << "another queue";
    task(101).queue.throttle_count = 1;
    on_wakeup(&task(101).task);
    EXPECT_EQ(switch_to(201, 101).throttled_from_ns, kernel_.now_ns) << "it begins again";
}

TEST_F(Throttling, is_looked_for_if_a_thread_has_a_quota) {
    quotas_seen = false;
    std::deque<kernel::task_group> groups(9);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        groups[i].cfs_bandwidth.quota = no_quota;
        groups[i].parent = i + 1 < groups.size() ? &groups[i + 1] : nullptr;
    }
    task(101).task.sched_task_group = &groups[0];
    visit(101);
    EXPECT_FALSE(quotas_seen);
    groups[8].cfs_bandwidth.quota = 5;
    EXPECT_FALSE(native_has_quota(&task(101).task)) << "eight levels are looked at";
    groups[7].cfs_bandwidth.quota = 0;
    EXPECT_TRUE(native_has_quota(&task(101).task));
    visit(101);
    EXPECT_TRUE(quotas_seen);
    kernel_.missing.insert("group->cfs_bandwidth");
    EXPECT_FALSE(native_has_quota(&task(101).task));
}

TEST_F(Switches, threads_are_described_when_the_recording_begins) {
    Task& one = task(105);
    one.task.real_parent = &task(201).task;
    one.task.start_boottime = 77;
    one.task.__state = interruptible;
    lagtrap_thread found = visit(105);
    EXPECT_EQ(found.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(found.pid, 100U);
    EXPECT_EQ(found.tid, 105U);
    EXPECT_EQ(found.parent_pid, 200U);
    EXPECT_EQ(found.uid, 1000U);
    EXPECT_EQ(found.started_ns, 77U);
    EXPECT_EQ(found.state, interruptible);
    EXPECT_EQ(found.is_kernel_thread, 0U);
    EXPECT_STREQ(found.comm, "thread-105");
    const __u64 frame = 0xffffffff81000001, pc = 0x401000;
    EXPECT_EQ(found.kernel_stack_id, native_stack_id(0, true, &frame, 1));
    EXPECT_EQ(found.user_stack_id, native_stack_id(100, false, &pc, 1));
    kernel::bpf_iter__task last{nullptr, nullptr};
    on_thread(&last);
    EXPECT_TRUE(take(LAGTRAP_RECORD_THREAD).empty()) << "the visit is over";
    one.task.flags = 0x00200000;
    found = visit(105);
    EXPECT_EQ(found.is_kernel_thread, 1U);
    EXPECT_NE(found.kernel_stack_id, 0U);
    EXPECT_EQ(found.user_stack_id, 0U);
    one.task.flags = 0;
    one.task.__state = 0;
    found = visit(105);
    EXPECT_EQ(found.kernel_stack_id, 0U) << "it runs";
    EXPECT_EQ(found.user_stack_id, 0U);
    fill_ring();
    kernel::bpf_iter__task context{nullptr, &one.task};
    on_thread(&context);
    EXPECT_EQ(counters().threads_lost, 1U);
}

TEST_F(Switches, stacks_with_other_frames_have_other_numbers) {
    std::set<std::uint64_t> numbers;
    const auto add = [&](std::uint32_t pid, bool of_kernel, const std::vector<__u64>& frames) {
        numbers.insert(
            native_stack_id(pid, of_kernel, frames.data(), static_cast<__u32>(frames.size())));
    };
    add(100, false, {1, 2, 3});
    add(100, false, {1, 2, 3});
    EXPECT_EQ(numbers.size(), 1U);
    add(200, false, {1, 2, 3});
    add(100, true, {1, 2, 3});
    add(100, false, {3, 2, 1});
    add(100, false, {1, 2});
    add(100, false, {1, 2, 3, 0});
    add(100, false, {4, 2, 3});
    add(100, false, {1, 4, 3});
    EXPECT_EQ(numbers.size(), 8U);
    EXPECT_FALSE(numbers.contains(0));
}

TEST_F(Throttling, of_kernels_that_do_not_tell_is_not_looked_for) {
    kernel::task_group group{};
    group.cfs_bandwidth.quota = 5;
    task(101).task.sched_task_group = &group;
    EXPECT_TRUE(native_has_quota(&task(101).task));
    kernel_.missing.insert("task->sched_task_group");
    EXPECT_FALSE(native_has_quota(&task(101).task));
    task(101).queue.throttle_count = 1;
    switch_to(101, 201, 0);
    EXPECT_EQ(switch_to(201, 101).header.size_bytes, LAGTRAP_SWITCH_THROTTLED_BYTES);
    kernel_.missing.insert("next->se.cfs_rq");
    EXPECT_EQ(switch_to(201, 101).header.size_bytes, LAGTRAP_SWITCH_LEAST_BYTES);
}

TEST_F(Switches, samples_have_the_stacks_of_the_thread_on_the_cpu) {
    struct {
        pt_regs registers{};
        std::uint64_t period = 0, address = 0;
    } context;
    const auto sample = [&](int tid) {
        select(tid);
        on_sample(&context);
        const auto found = take<lagtrap_sample>(LAGTRAP_RECORD_SAMPLE);
        return found.empty() ? lagtrap_sample{} : found[0];
    };
    context.registers.cs = 0x33;
    kernel_.cpu = 2;
    lagtrap_sample found = sample(101);
    EXPECT_EQ(found.header.size_bytes, sizeof(found));
    EXPECT_EQ(found.header.cpu, 2);
    EXPECT_EQ(found.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(found.pid, 100U);
    EXPECT_EQ(found.tid, 101U);
    EXPECT_EQ(found.in_kernel, 0U);
    EXPECT_EQ(found.padding, 0U);
    const __u64 frame = 0xffffffff81000001, pc = 0x401000;
    EXPECT_EQ(found.kernel_stack_id, native_stack_id(0, true, &frame, 1));
    EXPECT_EQ(found.user_stack_id, native_stack_id(100, false, &pc, 1));
    context.registers.cs = 0x10;
    EXPECT_EQ(sample(101).in_kernel, 1U);
    task(101).task.flags = 0x00200000;
    EXPECT_EQ(sample(101).user_stack_id, 0U);
    EXPECT_EQ(counters().samples, 3U);
    task(0).task.tgid = 0;
    EXPECT_EQ(sample(0).tid, 0U);
    EXPECT_EQ(counters().idle_samples, 1U);
    EXPECT_EQ(counters().samples, 3U);
    fill_ring();
    select(101);
    on_sample(&context);
    EXPECT_EQ(counters().samples_lost, 1U);
    recording.on = 0;
    EXPECT_EQ(sample(101).tid, 0U);
}

TEST_F(Switches, a_child_has_the_address_space_of_its_parent_until_it_runs_another_program) {
    auto& spaces = kernel_.map(recorder_maps.unwind_processes);
    const auto space_of = [&](std::uint32_t pid) -> std::uint32_t {
        const auto* space = static_cast<const std::uint32_t*>(kernel_.lookup(spaces, &pid));
        return space == nullptr ? 0 : *space;
    };
    const std::uint32_t parent = 100;
    const std::uint32_t space[2] = {5, 1};
    ASSERT_EQ(native_update(recorder_maps.unwind_processes, &parent, space), 0);
    on_fork(&task(101).task, &task(201).task);
    EXPECT_EQ(space_of(200), 5U);
    on_fork(&task(301).task, &task(401).task);
    EXPECT_EQ(space_of(400), 0U);
    on_exec(&task(201).task);
    EXPECT_EQ(space_of(200), 0U);
    EXPECT_EQ(space_of(100), 5U);
}

}  // namespace

}  // namespace lagtrap::native::switches_test
