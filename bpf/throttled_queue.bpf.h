/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Tells whether a thread's control group is over its CPU quota, from the group's queue on the
 * thread's CPU.
 */
#ifndef LAGTRAP_BPF_THROTTLED_QUEUE_BPF_H
#define LAGTRAP_BPF_THROTTLED_QUEUE_BPF_H

#include "bpf/kernel.bpf.h"

#define FIRST_FAIR_PRIORITY 100

/* Quotas apply to normal threads, not to real-time policies. */
static __always_inline bool is_throttled(struct task_struct* task) {
    if (task->prio < FIRST_FAIR_PRIORITY || !bpf_core_field_exists(task->se.cfs_rq)) return false;
    struct cfs_rq* queue = FOR_POINTERS(task)->se.cfs_rq;
    return bpf_core_field_exists(queue->throttle_count) && queue->throttle_count > 0;
}

#endif
