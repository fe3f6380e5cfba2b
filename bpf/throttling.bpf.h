/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Records when runnable threads could not run because their control group was over its CPU
 * quota. The scheduler's tracepoints show them as runnable; their group's queue on their CPU is
 * marked as throttled.
 */
#ifndef LAGTRAP_BPF_THROTTLING_BPF_H
#define LAGTRAP_BPF_THROTTLING_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/records.h"
#include "bpf/throttled_queue.bpf.h"

struct throttling {
    __u64 from_ns; /* when it was first seen */
    __u64 to_ns;   /* when a thread of the queue ran again; 0: not yet */
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, __u64); /* address of the queue */
    __type(value, struct throttling);
} throttled_queues SEC(".maps");

/* Whether any control group has a quota. If not, this costs nothing. */
volatile bool quotas_seen = false;

#define RUNTIME_INF (~0ULL) /* kernel/sched/sched.h: no quota */
#define GROUP_DEPTH 8       /* nested groups checked */

static __always_inline bool has_quota(struct task_struct* task) {
    if (!bpf_core_field_exists(task->sched_task_group)) return false;
    struct task_group* group = FOR_POINTERS(task)->sched_task_group;
    if (!bpf_core_field_exists(group->cfs_bandwidth)) return false;
    for (int i = 0; i < GROUP_DEPTH && group; i++) {
        if (group->cfs_bandwidth.quota != RUNTIME_INF) return true;
        group = group->parent;
    }
    return false;
}

static __always_inline void note_throttling(struct task_struct* task, __u64 now_ns) {
    __u64 queue = (__u64)FOR_POINTERS(task)->se.cfs_rq;
    struct throttling* known = bpf_map_lookup_elem(&throttled_queues, &queue);
    if (known && known->to_ns == 0) return;
    struct throttling begun = {.from_ns = now_ns};
    bpf_map_update_elem(&throttled_queues, &queue, &begun, BPF_ANY);
}

/* Adds throttling of the thread that gets the CPU to `record`. Returns the record's size in
 * bytes. */
static __always_inline __u32 find_throttling(struct lagtrap_switch* record,
                                             struct task_struct* next) {
    if (!bpf_core_field_exists(next->se.cfs_rq)) return LAGTRAP_SWITCH_LEAST_BYTES;
    __u64 queue = (__u64)FOR_POINTERS(next)->se.cfs_rq;
    struct throttling* known = bpf_map_lookup_elem(&throttled_queues, &queue);
    if (!known) return LAGTRAP_SWITCH_LEAST_BYTES;
    if (known->to_ns == 0 && !is_throttled(next)) known->to_ns = record->header.at_ns;
    record->throttled_from_ns = known->from_ns;
    record->throttled_to_ns = known->to_ns ?: record->header.at_ns;
    return LAGTRAP_SWITCH_THROTTLED_BYTES;
}

/* A group over its quota accepts a woken thread without letting it run. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct* wakee) {
    if (is_throttled(wakee)) note_throttling(wakee, bpf_ktime_get_ns());
    return 0;
}

#endif
