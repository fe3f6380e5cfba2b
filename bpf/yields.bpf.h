/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Threads that yield the CPU. Internal to the recorder, which owns the last switches.
 */
#ifndef LAGTRAP_BPF_YIELDS_BPF_H
#define LAGTRAP_BPF_YIELDS_BPF_H

#define CALL_SCHED_YIELD 24 /* arch/x86/entry/syscalls/syscall_64.tbl */
#define YIELD_STACK_INTERVAL_NS 1000000

static __always_inline bool is_yielding(struct task_struct* task) {
    struct pt_regs___kernel* registers = (void*)bpf_task_pt_regs(task);
    return registers && registers->orig_ax == CALL_SCHED_YIELD && registers->cs != USER_CODE_32_BIT;
}

/* A spinning thread yields many thousand times per second; a few stacks show where. */
static __always_inline bool is_stack_of_yield_due(__u64 now_ns) {
    __u32 zero = 0;
    struct last_switch* last = bpf_map_lookup_elem(&last_switches, &zero);
    if (!last || now_ns - last->yield_stack_ns < YIELD_STACK_INTERVAL_NS) return false;
    last->yield_stack_ns = now_ns;
    return true;
}

#endif
