/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Identifies the lock, condition variable or semaphore that a thread waits for, by a number
 * equal for all its waiters, which shows who passed it to whom.
 */
#ifndef LAGTRAP_BPF_WAIT_OBJECT_BPF_H
#define LAGTRAP_BPF_WAIT_OBJECT_BPF_H

#include "bpf/kernel.bpf.h"

#define CALL_FUTEX 202 /* arch/x86/entry/syscalls/syscall_64.tbl */
/* From include/uapi/linux/futex.h. */
#define FUTEX_OF_ONE_PROCESS 128
#define FUTEX_COMMAND 0x7f
#define FUTEX_COMMAND_WAIT 0
#define FUTEX_COMMAND_LOCK_PI 6
#define FUTEX_COMMAND_WAIT_BITSET 9
#define FUTEX_COMMAND_WAIT_REQUEUE_PI 11
#define FUTEX_COMMAND_LOCK_PI2 13

static __always_inline bool is_futex_wait(__u32 operation) {
    switch (operation & FUTEX_COMMAND) {
        case FUTEX_COMMAND_WAIT:
        case FUTEX_COMMAND_LOCK_PI:
        case FUTEX_COMMAND_WAIT_BITSET:
        case FUTEX_COMMAND_WAIT_REQUEUE_PI:
        case FUTEX_COMMAND_LOCK_PI2: return true;
        default: return false;
    }
}

/* glibc's condition variables and reader/writer locks have two adjacent words for two groups of
 * waiters; both count as one object. Processes that share a futex usually inherited its mapping
 * and have it at the same address. */
static __always_inline __u64 wait_object(struct task_struct* task) {
    struct pt_regs___kernel* registers = (void*)bpf_task_pt_regs(task);
    if (!registers || registers->orig_ax != CALL_FUTEX || !is_futex_wait(registers->si)) return 0;
    __u64 object = registers->di >> 3;
    if (registers->si & FUTEX_OF_ONE_PROCESS) object ^= (__u64)task->tgid << 45;
    return object * 0x9e3779b97f4a7c15ULL | 1;
}

#endif
