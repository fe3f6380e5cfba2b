/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Tells from the preempt count whether a CPU runs its thread or an interrupt.
 */
#ifndef LAGTRAP_BPF_INTERRUPT_LEVEL_BPF_H
#define LAGTRAP_BPF_INTERRUPT_LEVEL_BPF_H

#include "bpf/kernel.bpf.h"

enum context_level { LEVEL_THREAD, LEVEL_SOFTIRQ, LEVEL_HARDIRQ, LEVELS, LEVEL_UNKNOWN };

/* Set before loading: offset in bytes from a CPU's run queue to its preempt count; 0 if unknown. */
const volatile __s64 preempt_count_after_run_queue = 0;
/* Set if the count is elsewhere: in a softirq, its softirq bit was clear. */
volatile bool preempt_count_is_wrong = false;

#define SOFTIRQ_RUNS                                                             \
    0x100 /* SOFTIRQ_OFFSET; higher bits of the byte: a thread disabled softirqs \
           */
#define SOFTIRQ_COUNT 0xff00
#define HARDIRQ_COUNT 0xff0000 /* including the NMI bits */

/* The preempt count as in include/linux/preempt.h; negative if it is unavailable. */
static __always_inline int preempt_count_now(void) {
    struct task_struct* task = bpf_get_current_task_btf();
    if (preempt_count_after_run_queue == 0 || preempt_count_is_wrong ||
        !bpf_core_field_exists(task->se.cfs_rq))
        return -1;
    int count = 0;
    /* The running thread is in this CPU's run queue. */
    const char* run_queue = (const char*)FOR_POINTERS(task)->se.cfs_rq->rq;
    if (bpf_probe_read_kernel(&count, sizeof(count), run_queue + preempt_count_after_run_queue))
        return -1;
    count &= 0x7fffffff; /* the highest bit requests preemption */
    if (bpf_core_field_exists(task->softirq_disable_cnt))
        count |= task->softirq_disable_cnt & SOFTIRQ_COUNT;
    return count;
}

static __always_inline enum context_level level_of(int preempt_count) {
    if (preempt_count < 0) return LEVEL_UNKNOWN;
    if (preempt_count & HARDIRQ_COUNT) return LEVEL_HARDIRQ;
    return preempt_count & SOFTIRQ_RUNS ? LEVEL_SOFTIRQ : LEVEL_THREAD;
}

#endif
