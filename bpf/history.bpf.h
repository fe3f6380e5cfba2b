/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The history of the last seconds while not recording: occasional call stacks of busy CPUs, and
 * waits of threads that are in a run or wait for a disk, with their stacks. Internal to the
 * recorder, which owns the rings and scratch memory.
 *
 * Any timer interrupt may trigger a sample. A busy CPU has one at each scheduler tick, an idle
 * CPU keeps sleeping: no timer is set for this.
 */
#ifndef LAGTRAP_BPF_HISTORY_BPF_H
#define LAGTRAP_BPF_HISTORY_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/recorder.h"
#include "bpf/timed_threads.bpf.h"

/* Stack walks for waits per second and CPU; the burst allows as many at once. */
#define HISTORY_WALK_NS 1000000ULL
#define HISTORY_WALK_BURST_NS 1000000000ULL
/* Shorter waits are not reported. */
#define HISTORY_RUN_WAIT_NS 50000ULL
#define HISTORY_DISK_WAIT_NS 1000000ULL
/* For a run's wait of at least this length, also walk the waker's stack. */
#define HISTORY_LONG_WAIT_NS 1000000ULL

/* Minimum time between wakeups of the daemon to read the ring; a sleeping machine never wakes
 * it. */
#define HISTORY_TURN_NS 1000000000ULL

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} history_turns SEC(".maps");

static volatile __u64 history_turned_ns = 0;

struct history_cpu {
    __u64 sampled_ns;
    __u64 walks_paid_ns; /* time up to which walks are paid for (rate limit) */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct history_cpu);
} history_cpus SEC(".maps");

struct wait_begun {
    __u64 begin_ns;
    __u64 kernel_stack_id;
    __u64 user_stack_id;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, __u32); /* the thread */
    __type(value, struct wait_begun);
} waits_begun SEC(".maps");

static __always_inline bool is_in_run(const struct lagtrap_thread_times* times, __u64 now_ns) {
    return times && now_ns < times->last_begin_ns + LAGTRAP_OPEN_COUNTS_NS;
}

/* Returns the thread's times if it has an open run. Almost no thread has one; for the others,
 * this saves reading the clock, the most expensive part of what follows. */
static __always_inline struct lagtrap_thread_times* times_in_run(__u32 tid) {
    struct lagtrap_thread_times* times = times_of(tid);
    return times && times->open > 0 ? times : NULL;
}

static __always_inline bool may_walk(__u64 now_ns) {
    __u32 zero = 0;
    struct history_cpu* cpu = bpf_map_lookup_elem(&history_cpus, &zero);
    if (!cpu || cpu->walks_paid_ns > now_ns) return false;
    __u64 earliest_ns = now_ns - HISTORY_WALK_BURST_NS;
    cpu->walks_paid_ns =
        (cpu->walks_paid_ns > earliest_ns ? cpu->walks_paid_ns : earliest_ns) + HISTORY_WALK_NS;
    return true;
}

/* Whether a sample of this CPU is due. */
static __always_inline bool sample_is_due(__u64 now_ns) {
    __u32 zero = 0;
    struct history_cpu* cpu = bpf_map_lookup_elem(&history_cpus, &zero);
    if (!cpu || now_ns < cpu->sampled_ns + recording.history_interval_ns) return false;
    cpu->sampled_ns = now_ns;
    return true;
}

static __always_inline void call_for_turn(__u64 now_ns) {
    if (now_ns < history_turned_ns + HISTORY_TURN_NS) return;
    history_turned_ns = now_ns;
    bpf_ringbuf_output(&history_turns, &now_ns, sizeof(now_ns), BPF_RB_FORCE_WAKEUP);
}

/* Counts records that do not fit. */
static __always_inline void report_history(const void* record, __u64 size, __u64 now_ns) {
    struct lagtrap_capture_counters* counters = my_counters();
    if (bpf_ringbuf_output(&records, (void*)record, size, BPF_RB_NO_WAKEUP) && counters)
        __sync_fetch_and_add(&counters->history_lost, 1);
    call_for_turn(now_ns);
}

/* Does not copy stacks that cannot be walked at once: without a recording, no merge would use
 * the copies. */
static __always_inline __u64 note_history_stack(struct stack_scratch* stack, __u32 pid,
                                                __u64 now_ns, __u32 user) {
    walk_current_user_stack(&stack->walk, stack->frames, false);
    __u64 id = note_stack(stack, pid, LAGTRAP_STACK_USER | stack->walk.end << 1,
                          stack->walk.frame_count, now_ns);
    if (!stack->walk.python.is_named) note_python_names(stack, pid, now_ns, user);
    return id;
}

static __always_inline int note_wait_begin(void* ctx, struct task_struct* task) {
    __u32 tid = task->pid, kind = SCRATCH_SWITCH;
    struct lagtrap_thread_times* times = times_in_run(tid);
    bool waits_for_disk = BPF_CORE_READ_BITFIELD(task, in_iowait);
    if (tid == 0 || (!times && !waits_for_disk)) return 0;
    __u64 now_ns = bpf_ktime_get_ns();
    if (!waits_for_disk && !is_in_run(times, now_ns)) return 0;
    struct stack_scratch* stack = bpf_map_lookup_elem(&scratch, &kind);
    struct lagtrap_capture_counters* counters = my_counters();
    if (!stack || !counters) return 0;
    counters->history_waits++;
    struct wait_begun wait = {.begin_ns = now_ns};
    if (may_walk(now_ns)) {
        wait.kernel_stack_id = note_kernel_stack(ctx, stack, now_ns);
        if (!(task->flags & TASK_IS_KERNEL_THREAD))
            wait.user_stack_id = note_history_stack(stack, task->tgid, now_ns, kind);
    }
    bpf_map_update_elem(&waits_begun, &tid, &wait, BPF_ANY);
    return 0;
}

static __always_inline int note_wait_end(void* ctx, struct task_struct* wakee) {
    __u32 tid = wakee->pid, kind = SCRATCH_SWITCH;
    struct lagtrap_thread_times* times = times_in_run(tid);
    bool waits_for_disk = BPF_CORE_READ_BITFIELD(wakee, in_iowait);
    if (!times && !waits_for_disk) return 0;
    __u64 now_ns = bpf_ktime_get_ns();
    bool in_run = is_in_run(times, now_ns);
    if (!in_run && !waits_for_disk) return 0;
    struct wait_begun* wait = bpf_map_lookup_elem(&waits_begun, &tid);
    if (!wait || wait->begin_ns == 0) return 0;
    __u64 begin_ns = wait->begin_ns;
    wait->begin_ns = 0;
    if (now_ns - begin_ns < (in_run ? HISTORY_RUN_WAIT_NS : HISTORY_DISK_WAIT_NS)) return 0;
    __u64 pid_tid = bpf_get_current_pid_tgid();
    struct lagtrap_history_wait record = {.begin_ns = begin_ns,
                                          .kernel_stack_id = wait->kernel_stack_id,
                                          .user_stack_id = wait->user_stack_id,
                                          .pid = wakee->tgid,
                                          .tid = tid,
                                          .waker_pid = pid_tid >> 32,
                                          .waker_tid = (__u32)pid_tid,
                                          .in_run = in_run};
    fill_header(&record.header, LAGTRAP_RECORD_HISTORY_WAIT, sizeof(record), now_ns);
    record.by_interrupt = (__u32)pid_tid == 0 || level_of(preempt_count_now()) != LEVEL_THREAD;
    BPF_CORE_READ_STR_INTO(&record.comm, wakee, comm);
    BPF_CORE_READ_STR_INTO(&record.process, wakee, group_leader, comm);
    if (!record.by_interrupt) {
        struct task_struct* waker = bpf_get_current_task_btf();
        BPF_CORE_READ_STR_INTO(&record.waker, waker, comm);
        struct stack_scratch* stack = bpf_map_lookup_elem(&scratch, &kind);
        bool has_memory = !(waker->flags & TASK_IS_KERNEL_THREAD);
        if (in_run && stack && has_memory && now_ns - begin_ns >= HISTORY_LONG_WAIT_NS &&
            may_walk(now_ns))
            record.waker_user_stack_id = note_history_stack(stack, record.waker_pid, now_ns, kind);
    }
    report_history(&record, sizeof(record), now_ns);
    return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int on_tick(void* ctx) {
    if (!recording.history || recording.on) return 0;
    __u64 pid_tid = bpf_get_current_pid_tgid(), now_ns = bpf_ktime_get_ns();
    if ((__u32)pid_tid == 0 || !sample_is_due(now_ns)) return 0;
    __u32 kind = SCRATCH_SAMPLE;
    struct stack_scratch* stack = bpf_map_lookup_elem(&scratch, &kind);
    struct lagtrap_capture_counters* counters = my_counters();
    if (!stack || !counters) return 0;
    counters->history_samples++;
    struct task_struct* task = bpf_get_current_task_btf();
    struct lagtrap_history_sample record = {.pid = pid_tid >> 32, .tid = (__u32)pid_tid};
    fill_header(&record.header, LAGTRAP_RECORD_HISTORY_SAMPLE, sizeof(record), now_ns);
    BPF_CORE_READ_STR_INTO(&record.comm, task, comm);
    BPF_CORE_READ_STR_INTO(&record.process, task, group_leader, comm);
    if (!(task->flags & TASK_IS_KERNEL_THREAD))
        record.user_stack_id = note_history_stack(stack, record.pid, now_ns, kind);
    report_history(&record, sizeof(record), now_ns);
    return 0;
}

#endif
