/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The table of threads whose time is counted: those that began a run most recently. The
 * event monitor's programs write it; the recorder's read it.
 */
#ifndef LAGTRAP_BPF_TIMED_THREADS_BPF_H
#define LAGTRAP_BPF_TIMED_THREADS_BPF_H

#include "bpf/event_monitor.h"
#include "bpf/kernel.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_TIMED_SETS);
    __type(key, __u32);
    __type(value, struct lagtrap_timed_set);
} timed_sets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_TIMED_THREADS);
    __type(key, __u32);
    __type(value, struct lagtrap_thread_times);
} thread_times SEC(".maps");

/* A run open longer than this does not keep its thread from forgetting older waits, because it
 * may have been left. */
#define LAGTRAP_OPEN_COUNTS_NS 60000000000ULL

static __always_inline __u32 timed_set_of(__u32 tid) { return (tid * 0x9e3779b1u) >> 21; }

static __always_inline struct lagtrap_thread_times* times_at(__u32 set, __u32 way) {
    __u32 index = set * LAGTRAP_TIMED_WAYS + way;
    return bpf_map_lookup_elem(&thread_times, &index);
}

static __always_inline struct lagtrap_thread_times* times_of(__u32 tid) {
    if (tid == 0) return NULL; /* a CPU's idle thread */
    __u32 set = timed_set_of(tid);
    struct lagtrap_timed_set* tids = bpf_map_lookup_elem(&timed_sets, &set);
    if (!tids) return NULL;
#pragma unroll
    for (__u32 way = 0; way < LAGTRAP_TIMED_WAYS; way++)
        if (*(volatile __u32*)&tids->tids[way] == tid) return times_at(set, way);
    return NULL;
}

#endif
