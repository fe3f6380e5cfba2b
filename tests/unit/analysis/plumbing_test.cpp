#include "analysis/plumbing.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::analysis::plumbing_test {
namespace {

using Names = std::vector<std::string>;

const Names plumbing{"schedulemore",
                     "rt_mutex_schedule",
                     "do_wait_intr",
                     "do_wait_intr_irq",
                     "__schedulemore",
                     "preempt_schedulemore",
                     "io_schedulemore",
                     "wait_woken",
                     "wait_for_completionmore",
                     "__wait_for_common",
                     "do_wait_for_common",
                     "prepare_to_waitmore",
                     "__cond_resched",
                     "bpf_more",
                     "__bpf_more",
                     "__traceiter_more",
                     "trace_more",
                     "perf_trace_more",
                     "entry_SYSCALL_64more",
                     "entry_SYSCALL_compatmore",
                     "do_syscall_64",
                     "x64_sys_call",
                     "el0_more",
                     "el0t_more",
                     "do_el0_svc",
                     "invoke_syscallmore",
                     "asm_more",
                     "irqentry_more",
                     "exit_to_user_modemore",
                     "syscall_exit_to_user_modemore",
                     "ret_from_forkmore",
                     "common_startup_64",
                     "secondary_startup_64more"};
const Names starts{"_start",
                   "__libc_start_mainmore",
                   "__libc_start_call_main",
                   "start_thread",
                   "clone",
                   "clone3",
                   "__clone",
                   "__clone3",
                   "__GI___clone3",
                   "execute_native_thread_routine"};

TEST(Plumbing, ExplainsNothing) {
    for (const std::string& function : plumbing)
        EXPECT_TRUE(is_kernel_plumbing(function)) << function;
    EXPECT_FALSE(is_kernel_plumbing("odd_wait"));
}

TEST(Plumbing, ThreadsBeginInKnownFunctions) {
    for (const std::string& function : starts) {
        EXPECT_TRUE(is_thread_start(function)) << function;
        EXPECT_TRUE(is_thread_start(function + "@@GLIBC_2.34")) << function;
    }
    for (const char* other : {"main", "started", "clone4", "_starter", ""})
        EXPECT_FALSE(is_thread_start(other)) << other;
}

}  // namespace
}  // namespace lagtrap::analysis::plumbing_test
