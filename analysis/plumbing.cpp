#include "analysis/plumbing.hpp"

#include <array>

#include "analysis/function_pattern.hpp"

namespace lagtrap::analysis {

namespace {

constexpr auto kernel_plumbing = std::to_array<std::string_view>({
    "schedule*",
    "rt_mutex_schedule",
    "do_wait_intr",
    "do_wait_intr_irq",
    "__schedule*",
    "preempt_schedule*",
    "io_schedule*",
    "wait_woken",
    "wait_for_completion*",
    "__wait_for_common",
    "do_wait_for_common",
    "prepare_to_wait*",
    "__cond_resched",
    "bpf_*",
    "__bpf_*",
    "__traceiter_*",
    "trace_*",
    "perf_trace_*",
    "entry_SYSCALL_64*",
    "entry_SYSCALL_compat*",
    "do_syscall_64",
    "x64_sys_call",
    "el0_*",
    "el0t_*",
    "do_el0_svc",
    "invoke_syscall*",
    "asm_*",
    "irqentry_*",
    "exit_to_user_mode*",
    "syscall_exit_to_user_mode*",
    "ret_from_fork*",
    "common_startup_64",
    "secondary_startup_64*",
});

constexpr auto thread_starts = std::to_array<std::string_view>({
    "_start",
    "__libc_start_main*",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "__GI___clone3",
    "execute_native_thread_routine",
});

}  // namespace

bool is_kernel_plumbing(std::string_view kernel_function) {
    return matches_one_of(kernel_function, kernel_plumbing);
}

bool is_thread_start(std::string_view function) {
    const std::string_view plain = function.substr(0, function.find('@'));
    return matches_one_of(plain, thread_starts);
}

}  // namespace lagtrap::analysis
