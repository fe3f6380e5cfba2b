/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Breaks down the time of threads with open runs, at all times: on a CPU, waiting for one, or
 * blocked, by class. The scheduler's tracepoints add to the sums of threads in the table and
 * skip all others; runs take differences of the sums (run_times.bpf.h).
 *
 * A thread's sums are written by the switch that takes it off a CPU, then by its wakeup, then by
 * the switch that brings it back. These are sequential, so there is no lock.
 */
#ifndef LAGTRAP_BPF_THREAD_TIMES_BPF_H
#define LAGTRAP_BPF_THREAD_TIMES_BPF_H

#include <asm/unistd.h>

#include "bpf/event_monitor.h"
#include "bpf/interrupt_level.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/throttled_queue.bpf.h"
#include "bpf/timed_threads.bpf.h"

#define CALLS 512
#define CLASS(call, name) [__NR_##call] = LAGTRAP_WAIT_##name

/* Indexed by the number of 64-bit system calls. */
static const __u8 class_of_call[CALLS] = {
    CLASS(futex, LOCK),
    CLASS(poll, EVENTS),
    CLASS(ppoll, EVENTS),
    CLASS(select, EVENTS),
    CLASS(pselect6, EVENTS),
    CLASS(epoll_wait, EVENTS),
    CLASS(epoll_pwait, EVENTS),
    [441 /* epoll_pwait2 */] = LAGTRAP_WAIT_EVENTS,
    CLASS(io_getevents, EVENTS),
    [426 /* io_uring_enter */] = LAGTRAP_WAIT_EVENTS,
    CLASS(read, INPUT),
    CLASS(readv, INPUT),
    CLASS(pread64, INPUT),
    CLASS(preadv, INPUT),
    CLASS(preadv2, INPUT),
    CLASS(write, OUTPUT),
    CLASS(writev, OUTPUT),
    CLASS(pwrite64, OUTPUT),
    CLASS(pwritev, OUTPUT),
    CLASS(pwritev2, OUTPUT),
    CLASS(recvfrom, SOCKET),
    CLASS(recvmsg, SOCKET),
    CLASS(recvmmsg, SOCKET),
    CLASS(sendto, SOCKET),
    CLASS(sendmsg, SOCKET),
    CLASS(sendmmsg, SOCKET),
    CLASS(accept, SOCKET),
    CLASS(accept4, SOCKET),
    CLASS(connect, SOCKET),
    CLASS(nanosleep, SLEEP),
    CLASS(clock_nanosleep, SLEEP),
    CLASS(wait4, CHILD),
    CLASS(waitid, CHILD),
    CLASS(vfork, CHILD),
    CLASS(flock, FILE_LOCK),
    CLASS(fcntl, FILE_LOCK),
    CLASS(semop, SEMAPHORE),
    CLASS(semtimedop, SEMAPHORE),
    CLASS(fsync, DISK),
    CLASS(fdatasync, DISK),
    CLASS(sync, DISK),
    CLASS(syncfs, DISK),
    CLASS(msync, DISK),
    CLASS(sync_file_range, DISK),
};

#define TASK_STOPPED_OR_TRACED 0x000c /* __TASK_STOPPED | __TASK_TRACED, include/linux/sched.h */
#define TASK_FROZEN_STATE 0x8000      /* TASK_FROZEN */

static __always_inline __u32 class_of_wait(struct task_struct* task, __u32 state) {
    if (state & (TASK_STOPPED_OR_TRACED | TASK_FROZEN_STATE)) return LAGTRAP_WAIT_STOPPED;
    if (bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD(task, frozen))
        return LAGTRAP_WAIT_STOPPED;
    if (BPF_CORE_READ_BITFIELD(task, in_iowait)) return LAGTRAP_WAIT_DISK;
    struct pt_regs___kernel* registers = (void*)bpf_task_pt_regs(task);
    if (!registers || registers->cs == USER_CODE_32_BIT) return LAGTRAP_WAIT_OTHER;
    __u64 call = registers->orig_ax;
    if (call == ~0ULL) return LAGTRAP_WAIT_PAGE;
    return call < CALLS ? class_of_call[call] : LAGTRAP_WAIT_OTHER;
}

/* Takes an entry for the running thread: a free one, or that of the thread whose last begin is
 * oldest. */
static __noinline struct lagtrap_thread_times* claim_times(__u32 tid, __u64 now_ns) {
    __u32 set = timed_set_of(tid), chosen = 0;
    __u64 oldest_ns = ~0ULL;
    struct lagtrap_timed_set* tids = bpf_map_lookup_elem(&timed_sets, &set);
    if (!tids) return NULL;
    for (__u32 way = 0; way < LAGTRAP_TIMED_WAYS; way++) {
        struct lagtrap_thread_times* times = times_at(set, way);
        __u64 last_ns = !times || tids->tids[way] == 0 ? 0 : times->last_begin_ns;
        if (last_ns >= oldest_ns) continue;
        oldest_ns = last_ns;
        chosen = way;
    }
    if (chosen >= LAGTRAP_TIMED_WAYS) return NULL;
    __u32 old = tids->tids[chosen];
    struct lagtrap_thread_times* times = times_at(set, chosen);
    if (!times || __sync_val_compare_and_swap(&tids->tids[chosen], old, tid) != old) return NULL;
    __u32 generation = times->generation + 1;
    __builtin_memset(times, 0, sizeof(*times));
    times->generation = generation ?: 1;
    times->last_begin_ns = now_ns;
    times->since_ns = now_ns;
    return times;
}

/* Records what wakes a thread now. */
static __always_inline void note_waker(struct lagtrap_wait* wait) {
    enum context_level level = level_of(preempt_count_now());
    __u64 pid_tid = bpf_get_current_pid_tgid();
    if (level == LEVEL_HARDIRQ ||
        (__u32)pid_tid == 0) { /* the idle thread itself does not wake others */
        wait->waker = level == LEVEL_SOFTIRQ ? LAGTRAP_WAKER_SOFTIRQ : LAGTRAP_WAKER_INTERRUPT;
    } else if (level == LEVEL_SOFTIRQ) {
        wait->waker = LAGTRAP_WAKER_SOFTIRQ;
    } else if (level == LEVEL_THREAD) {
        wait->waker = LAGTRAP_WAKER_THREAD;
        wait->waker_pid = pid_tid >> 32;
        wait->waker_tid = (__u32)pid_tid;
        bpf_get_current_comm(wait->waker_comm, sizeof(wait->waker_comm));
    }
}

static __always_inline void keep_wait(struct lagtrap_thread_times* times, __u64 length_ns,
                                      bool waking) {
    if (length_ns <= times->shortest_kept_ns) return;
    __u32 shortest = 0;
    __u64 min_ns = ~0ULL, next_ns = ~0ULL;
#pragma unroll
    for (__u32 i = 0; i < LAGTRAP_KEPT_WAITS; i++) {
        __u64 one_ns = times->waits[i].length_ns;
        if (one_ns < min_ns) {
            next_ns = min_ns;
            min_ns = one_ns;
            shortest = i;
        } else if (one_ns < next_ns) {
            next_ns = one_ns;
        }
    }
    if (shortest >= LAGTRAP_KEPT_WAITS) return;
    struct lagtrap_wait* wait = &times->waits[shortest];
    wait->begin_ns = times->since_ns;
    wait->length_ns = length_ns;
    wait->wait_class = times->wait_class;
    wait->waker = LAGTRAP_WAKER_UNKNOWN;
    wait->waker_pid = wait->waker_tid = 0;
    if (waking) note_waker(wait);
    times->shortest_kept_ns = next_ns < length_ns ? next_ns : length_ns;
}

static __always_inline void add_blocked(struct lagtrap_thread_times* times, __u64 length_ns) {
    __u64 class = times->wait_class;
    /* Older verifiers lose the bound of a value that is checked in one register and used in
     * another. */
    asm volatile("" : "+r"(class));
    if (class < LAGTRAP_WAIT_CLASSES) times->parts.blocked_ns[class] += length_ns;
}

/* Not inlined, because the copies used up all registers. Adds the time in the state that ends,
 * and begins another. `waking`: the current thread or interrupt ends a wait. */
static __noinline void change_state(struct lagtrap_thread_times* times, __u64 now_ns, __u32 state,
                                    __u32 wait_class, bool waking) {
    if (!times) return;
    __u64 length_ns = now_ns - times->since_ns;
    switch (times->state) {
        case LAGTRAP_THREAD_ON_CPU: times->parts.on_cpu_ns += length_ns; break;
        case LAGTRAP_THREAD_THROTTLED: times->parts.throttled_ns += length_ns; /* fallthrough */
        case LAGTRAP_THREAD_RUNNABLE: times->parts.runnable_ns += length_ns; break;
        default: add_blocked(times, length_ns); keep_wait(times, length_ns, waking);
    }
    times->state = state;
    times->wait_class = wait_class;
    *(volatile __u64*)&times->since_ns = now_ns;
}

static __always_inline __u32 runnable_state(struct task_struct* task) {
    return is_throttled(task) ? LAGTRAP_THREAD_THROTTLED : LAGTRAP_THREAD_RUNNABLE;
}

/* For a thread that leaves a CPU without having been seen to get it: a kernel may not report
 * some switches (such as those from certain threads of a virtual machine's agent). The kernel's
 * own count tells how long it ran. */
static __always_inline void come_to_cpu_late(struct lagtrap_thread_times* times, __u64 ran_ns,
                                             __u64 now_ns) {
    __u64 length_ns = now_ns - times->since_ns, on_cpu_ns = ran_ns - times->ran_ns;
    change_state(times, now_ns - (on_cpu_ns < length_ns ? on_cpu_ns : length_ns),
                 LAGTRAP_THREAD_ON_CPU, 0, false);
}

/* Between runs, a thread's state stays as at the last hit, on a CPU. The sums at a run's begin
 * and end both include whatever that adds. */
static __always_inline struct lagtrap_thread_times* counted_times_of(__u32 tid) {
    struct lagtrap_thread_times* times = times_of(tid);
    return times && (times->open > 0 || times->always) ? times : NULL;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(count_switch, bool preempt, struct task_struct* prev, struct task_struct* next,
             unsigned int prev_state) {
    struct lagtrap_thread_times* before = counted_times_of(prev->pid);
    if (before) {
        bool can_run = wants_cpu(prev, preempt, prev_state);
        __u64 now_ns = bpf_ktime_get_ns(), ran_ns = prev->se.sum_exec_runtime;
        if (before->state != LAGTRAP_THREAD_ON_CPU) come_to_cpu_late(before, ran_ns, now_ns);
        before->ran_ns = ran_ns;
        change_state(before, now_ns, can_run ? runnable_state(prev) : LAGTRAP_THREAD_BLOCKED,
                     can_run ? 0 : class_of_wait(prev, prev_state), false);
    }
    struct lagtrap_thread_times* after = counted_times_of(next->pid);
    if (after) change_state(after, bpf_ktime_get_ns(), LAGTRAP_THREAD_ON_CPU, 0, false);
    return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(count_waking, struct task_struct* wakee) {
    struct lagtrap_thread_times* times = counted_times_of(wakee->pid);
    if (times && times->state == LAGTRAP_THREAD_BLOCKED)
        change_state(times, bpf_ktime_get_ns(), runnable_state(wakee), 0, true);
    return 0;
}

#endif
