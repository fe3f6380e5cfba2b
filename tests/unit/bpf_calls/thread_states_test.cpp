// How the time of a thread with a tree is divided.
#include "tests/unit/bpf_calls/call_trees.hpp"

namespace lagtrap::native::thread_states_test {

namespace {

TEST_F(CallTrees, know_when_their_thread_waits_for_a_cpu) {
    kernel::task_struct& own = thread(101).task;
    begin(serve, top);
    pass(2 * us);
    native_switch(true, &own, &idle_.task, 1);  // preempted on its way to sleep
    pass(3 * us);
    native_waking(&own);  // changes nothing
    native_switch(false, &idle_.task, &own, 0);
    pass(4 * us);
    native_switch(false, &own, &idle_.task, 0);  // it yields
    pass(5 * us);
    native_switch(false, &idle_.task, &own, 0);
    native_waking(&own);  // just before it would have slept: it runs on
    pass(6 * us);
    native_switch(false, &own, &idle_.task, 2);
    pass(7 * us);
    native_waking(&own);
    pass(8 * us);
    native_waking(&own);
    native_switch(false, &idle_.task, &own, 0);
    end(serve, top);
    EXPECT_EQ(shown(),
              "done, thread 101 worker-101, ended 35\n"
              "5 in none: 0-35 returned, on CPU 0-12, runnable 0-16\n");
}

// The tracepoint has the state with which it called the scheduler.
TEST_F(CallTrees, know_of_threads_woken_while_they_leave_their_cpu) {
    kernel::task_struct& own = thread(101).task;
    begin(serve, top);
    native_waking(&own);
    native_switch_of_woken(false, &own, &idle_.task, 1, 0);
    pass(3 * us);
    native_switch(false, &idle_.task, &own, 0);
    native_switch_of_woken(false, &own, &idle_.task, 1, 0x200);  // being woken
    pass(4 * us);
    native_switch(false, &idle_.task, &own, 0);
    end(serve, top);
    EXPECT_EQ(shown(),
              "done, thread 101 worker-101, ended 7\n"
              "5 in none: 0-7 returned, on CPU 0-0, runnable 0-7\n");
}

// It got its CPU before its tree began to be counted, or while a switch was not reported.
TEST_F(CallTrees, take_the_kernels_word_for_a_thread_that_was_not_seen_to_run) {
    kernel::task_struct& own = thread(101).task;
    begin(serve, top);
    own.se.sum_exec_runtime = 100 * us;
    native_switch(false, &own, &idle_.task, 1);
    pass(10 * us);
    own.se.sum_exec_runtime = 104 * us;  // it ran for 4 of these 10 us
    native_switch(false, &own, &idle_.task, 1);
    pass(10 * us);
    own.se.sum_exec_runtime = 200 * us;  // and for all of these, by the kernel's inexact count
    native_switch(false, &own, &idle_.task, 1);
    native_switch(false, &idle_.task, &own, 0);
    end(serve, top);
    EXPECT_EQ(shown(),
              "done, thread 101 worker-101, ended 20\n"
              "5 in none: 0-20 returned, on CPU 0-14, runnable 0-0\n");
}

TEST_F(CallTrees, count_only_threads_of_their_process_that_have_one) {
    kernel::task_struct& own = thread(101).task;
    begin(serve, top);
    pass(us);
    native_switch(false, &thread(201).task, &thread(102).task, 1);
    native_waking(&thread(201).task);
    own.tgid = 200;
    native_switch(false, &own, &idle_.task, 1);
    pass(us);
    native_switch(false, &idle_.task, &own, 0);
    own.tgid = 100;
    end(serve, top);
    EXPECT_EQ(shown(),
              "done, thread 101 worker-101, ended 2\n"
              "5 in none: 0-2 returned, on CPU 0-2, runnable 0-0\n");
}

TEST_F(CallTrees, read_times_again_if_a_switch_changed_them_meanwhile) {
    begin(serve, top);
    pass(us);
    kernel_.at_clock = [this] { block(5 * us, 2 * us); };
    begin(parse, top - 0x40);
    EXPECT_EQ(node(1).begin_on_cpu_ns, us);
    EXPECT_EQ(node(1).begin_runnable_ns, 2 * us);
    EXPECT_EQ(at(node(1).begin_ns), 8U);
}

}  // namespace

}  // namespace lagtrap::native::thread_states_test
