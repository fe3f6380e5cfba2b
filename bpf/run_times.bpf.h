/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * How much of its threads' time belongs to a run. If the thread is the key, all from begin to
 * end. Otherwise, what a thread did between two of its own hits; between hits of two threads the
 * run was handed over, at an unknown moment.
 */
#ifndef LAGTRAP_BPF_RUN_TIMES_BPF_H
#define LAGTRAP_BPF_RUN_TIMES_BPF_H

#include "bpf/event_monitor.h"
#include "bpf/kernel.bpf.h"
#include "bpf/thread_times.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4 * 1024 * 1024);
} recorded_runs SEC(
    ".maps"); /* runs that end during a recording or were reported, for the recorder */

enum times_of_run {
    TIMES_BY_VALUE = 1, /* the thread is not the key */
    TIMES_REPORTED = 2, /* the run's parts are needed */
};

/* Moves the running thread's sums from since_ns to `now_ns`. If that is earlier, the thread was
 * preempted after reading the clock: its wait for a CPU since then does not count yet. */
static __always_inline void move_to(__u64* on_cpu_ns, __u64* runnable_ns, __u64 since_ns,
                                    __u64 now_ns) {
    if (now_ns >= since_ns)
        *on_cpu_ns += now_ns - since_ns;
    else
        *runnable_ns -= since_ns - now_ns;
}

/* The running thread's sums up to `now_ns`. Repeats the copy if a preemption interrupted it. */
static __always_inline void sum_up(struct lagtrap_thread_times* times, __u64 now_ns,
                                   struct lagtrap_time_parts* parts) {
#pragma unroll
    for (int i = 0; i < 3; i++) {
        __u64 since_ns = *(volatile __u64*)&times->since_ns;
        barrier();
        *parts = times->parts;
        barrier();
        move_to(&parts->on_cpu_ns, &parts->runnable_ns, since_ns, now_ns);
        if (*(volatile __u64*)&times->since_ns == since_ns) return;
    }
}

/* Called before the running thread's sums are read. The kernel's own run time count is only as
 * fresh as its last tick. */
static __always_inline void see_on_cpu(struct lagtrap_thread_times* times, __u64 now_ns) {
    if (times->state == LAGTRAP_THREAD_ON_CPU || now_ns <= times->since_ns) return;
    struct task_struct* task = bpf_get_current_task_btf();
    come_to_cpu_late(times, task->se.sum_exec_runtime, now_ns);
}

#define TIME_PARTS (sizeof(struct lagtrap_time_parts) / sizeof(__u64))

static __always_inline void add_parts(struct lagtrap_time_parts* to,
                                      const struct lagtrap_time_parts* by) {
    __u64* sums = (__u64*)to;
    const __u64* more = (const __u64*)by;
#pragma unroll
    for (__u32 i = 0; i < TIME_PARTS; i++) sums[i] += more[i];
}

static __always_inline void take_off_parts(struct lagtrap_time_parts* from,
                                           const struct lagtrap_time_parts* by) {
    __u64* sums = (__u64*)from;
    const __u64* less = (const __u64*)by;
#pragma unroll
    for (__u32 i = 0; i < TIME_PARTS; i++) sums[i] -= less[i];
}

static __always_inline void forget_waits(struct lagtrap_thread_times* times) {
    times->shortest_kept_ns = 0;
#pragma unroll
    for (int i = 0; i < LAGTRAP_KEPT_WAITS; i++) times->waits[i].length_ns = 0;
}

/* Longer gaps mean that a thread was preempted after reading the clock for its begin, before its
 * switches were counted. */
#define PREEMPTED_NS 5000

static __always_inline void count_begin_preempted(struct lagtrap_thread_times* times,
                                                  __u64 now_ns) {
    __u64 length_ns = bpf_ktime_get_ns() - now_ns;
    if (length_ns < PREEMPTED_NS || times->since_ns > now_ns) return;
    times->parts.runnable_ns += length_ns;
    *(volatile __u64*)&times->since_ns = times->since_ns + length_ns;
}

/* Global, like all functions below that hits call, so that the verifier checks it once. `how`:
 * enum times_of_run. */
__noinline int begin_times(struct lagtrap_slot* slot, __u32 tid, __u64 now_ns, __u32 how) {
    if (!slot) return 0;
    slot->times_generation = 0;
    struct lagtrap_thread_times* times = times_of(tid);
    if (!times) times = claim_times(tid, now_ns);
    if (!times) return 0;
    see_on_cpu(times, now_ns);
    if (how & TIMES_BY_VALUE) {
        __builtin_memset(&slot->parts, 0, sizeof(slot->parts));
        times->always = 1;
    } else {
        if (times->open > 0 && now_ns > times->last_begin_ns + LAGTRAP_OPEN_COUNTS_NS) {
            times->always = 1; /* the older run may still end */
            times->open = 0;
        }
        if (times->open++ == 0) forget_waits(times);
    }
    bool first = times->open == 1 && !times->always;
    times->last_begin_ns = now_ns;
    sum_up(times, now_ns, &slot->sums_at_hit);
    if (first) count_begin_preempted(times, now_ns);
    slot->handed_over_ns = 0;
    slot->times_tid = tid;
    slot->times_generation = times->generation;
    *(volatile __u64*)&slot->counted_ns = now_ns;
    return 0;
}

/* At a later hit of a run whose key is not the thread. If two threads hit at once, only one
 * counts. */
__noinline int count_hit(struct lagtrap_slot* slot, __u32 tid, __u64 now_ns) {
    if (!slot || !slot->times_generation) return 0;
    __u64 before_ns = *(volatile __u64*)&slot->counted_ns;
    if (before_ns == 0 || __sync_val_compare_and_swap(&slot->counted_ns, before_ns, 0) != before_ns)
        return 0;
    struct lagtrap_thread_times* times = times_of(tid);
    bool same = slot->times_tid == tid;
    bool known = same && times && times->generation == slot->times_generation;
    if (!same && now_ns > before_ns) slot->handed_over_ns += now_ns - before_ns;
    if (!times) times = claim_times(tid, now_ns);
    slot->times_generation = times ? times->generation : 0;
    if (times) {
        times->last_begin_ns = now_ns;
        times->always = 1;
        see_on_cpu(times, now_ns);
        if (known) take_off_parts(&slot->parts, &slot->sums_at_hit);
        sum_up(times, now_ns, &slot->sums_at_hit);
        if (known) add_parts(&slot->parts, &slot->sums_at_hit);
    }
    slot->times_tid = tid;
    *(volatile __u64*)&slot->counted_ns = now_ns;
    return 0;
}

static __always_inline struct lagtrap_thread_times* times_of_run(const struct lagtrap_slot* slot,
                                                                 __u32 tid) {
    bool same = slot->times_generation && slot->times_tid == tid;
    struct lagtrap_thread_times* times = same ? times_of(tid) : NULL;
    return times && times->generation == slot->times_generation ? times : NULL;
}

static __always_inline void count_parts(struct lagtrap_event_counters* counters, __u64 all_ns,
                                        __u64 on_cpu_ns, __u64 runnable_ns) {
    __sync_fetch_and_add(&counters->timed_ns, all_ns);
    __sync_fetch_and_add(&counters->on_cpu_ns, on_cpu_ns);
    __sync_fetch_and_add(&counters->runnable_ns, runnable_ns);
}

static __always_inline void end_by_value(struct lagtrap_slot* slot,
                                         struct lagtrap_event_counters* counters, __u32 tid,
                                         __u64 now_ns) {
    count_hit(slot, tid, now_ns);
    if (!slot->times_generation) {
        __sync_fetch_and_add(&counters->untimed, 1);
        return;
    }
    __u64 all_ns = slot->parts.on_cpu_ns + slot->parts.runnable_ns;
#pragma unroll
    for (__u32 i = 0; i < LAGTRAP_WAIT_CLASSES; i++) all_ns += slot->parts.blocked_ns[i];
    count_parts(counters, all_ns, slot->parts.on_cpu_ns, slot->parts.runnable_ns);
    __sync_fetch_and_add(&counters->handed_over_ns, slot->handed_over_ns);
}

/* At the end of a run, in the thread that ends it. With TIMES_REPORTED, the slot's parts become the
 * run's, unless times_generation is cleared. */
__noinline int end_times(struct lagtrap_slot* slot, struct lagtrap_event_counters* counters,
                         __u32 tid, __u64 now_ns, __u32 how) {
    if (!slot || !counters) return 0;
    if (how & TIMES_BY_VALUE) {
        end_by_value(slot, counters, tid, now_ns);
        return 0;
    }
    struct lagtrap_thread_times* times = times_of_run(slot, tid);
    if (!times) {
        slot->times_generation = 0;
        __sync_fetch_and_add(&counters->untimed, 1);
        return 0;
    }
    see_on_cpu(times, now_ns);
    __u64 on_cpu_ns, runnable_ns;
    if (how & TIMES_REPORTED) {
        sum_up(times, now_ns, &slot->parts);
        take_off_parts(&slot->parts, &slot->sums_at_hit);
        on_cpu_ns = slot->parts.on_cpu_ns;
        runnable_ns = slot->parts.runnable_ns;
    } else {
        on_cpu_ns = times->parts.on_cpu_ns - slot->sums_at_hit.on_cpu_ns;
        runnable_ns = times->parts.runnable_ns - slot->sums_at_hit.runnable_ns;
        move_to(&on_cpu_ns, &runnable_ns, times->since_ns, now_ns);
    }
    if (times->open > 0) times->open--;
    count_parts(counters, now_ns - slot->run.begin_hit_ns, on_cpu_ns, runnable_ns);
    return 0;
}

/* For a delay that ends, after end_times() with TIMES_REPORTED. */
__noinline int count_delay(struct lagtrap_slot* slot, struct lagtrap_event_counters* counters) {
    if (!slot || !counters) return 0;
    const struct lagtrap_time_parts* parts = &slot->parts;
    __u32 most = LAGTRAP_DELAY_NOT_KNOWN;
    if (slot->times_generation) {
        __u64 max_ns = parts->on_cpu_ns;
        most = LAGTRAP_DELAY_ON_CPU;
        const __u64 others[] = {parts->runnable_ns - parts->throttled_ns, parts->throttled_ns,
                                slot->handed_over_ns};
#pragma unroll
        for (__u32 i = 0; i < 3; i++) {
            if (others[i] <= max_ns) continue;
            max_ns = others[i];
            most = LAGTRAP_DELAY_RUNNABLE + i;
        }
#pragma unroll
        for (__u32 i = 0; i < LAGTRAP_WAIT_CLASSES; i++) {
            if (parts->blocked_ns[i] <= max_ns) continue;
            max_ns = parts->blocked_ns[i];
            most = LAGTRAP_DELAY_BLOCKED + i;
        }
    }
    if (most < LAGTRAP_DELAY_PARTS) __sync_fetch_and_add(&counters->delays_mostly[most], 1);
    return 0;
}

/* Reports what is known of a run that ends, after end_times() with TIMES_REPORTED, for a recording
 * that starts later. */
__noinline int report_so_far(struct lagtrap_slot* slot, __u32 tid, __u64 now_ns, __u32 how) {
    struct lagtrap_thread_times* times = slot ? times_of_run(slot, tid) : NULL;
    if (!times) return 0;
    struct lagtrap_run_so_far* reported = bpf_ringbuf_reserve(&recorded_runs, sizeof(*reported), 0);
    if (!reported) return 0;
    bool by_value = how & TIMES_BY_VALUE;
    reported->header.size_bytes = sizeof(*reported);
    reported->header.type = LAGTRAP_RECORD_RUN_SO_FAR;
    reported->header.cpu = bpf_get_smp_processor_id();
    reported->header.at_ns = now_ns;
    reported->begin_hit_ns = slot->run.begin_hit_ns;
    reported->from_ns = by_value ? now_ns : slot->run.begin_hit_ns;
    reported->until_ns = now_ns;
    reported->event = slot->run.event;
    reported->begin_tid = slot->run.begin_tid;
    reported->tid = tid;
    reported->wait_count = LAGTRAP_KEPT_WAITS;
    __builtin_memset(&reported->parts, 0, sizeof(reported->parts));
    __builtin_memset(&reported->earlier, 0, sizeof(reported->earlier));
    add_parts(by_value ? &reported->earlier : &reported->parts, &slot->parts);
#pragma unroll
    for (__u32 i = 0; i < LAGTRAP_KEPT_WAITS; i++) reported->waits[i] = times->waits[i];
    bpf_ringbuf_submit(reported, BPF_RB_NO_WAKEUP);
    return 0;
}

#endif
