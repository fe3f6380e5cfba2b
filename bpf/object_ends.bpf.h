/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Handles the end of a call on an object: its cost, whether it failed, and what is sent.
 */
#ifndef LAGTRAP_BPF_OBJECT_ENDS_BPF_H
#define LAGTRAP_BPF_OBJECT_ENDS_BPF_H

#include "bpf/object_life.bpf.h"

/* Resident pages: file, anonymous and shared. Since kernel commit f1a7941243c1 (6.2), each sum
 * is per CPU and lags a little. */
struct percpu_counter___resident {
    __s64 count;
} KERNEL_TYPE;
struct mm_struct___by_cpu {
    struct percpu_counter___resident rss_stat[4];
} KERNEL_TYPE;
struct atomic64___resident {
    __s64 counter;
} KERNEL_TYPE;
struct mm_rss_stat {
    struct atomic64___resident count[4];
} KERNEL_TYPE;
struct mm_struct___sums {
    struct mm_rss_stat rss_stat;
} KERNEL_TYPE;
struct task_struct___memory {
    void* mm;
} KERNEL_TYPE;

static __noinline __s64 resident_pages(struct task_struct* task) {
    void* memory = BPF_CORE_READ((struct task_struct___memory*)task, mm);
    if (!memory) return 0;
    __s64 counts[3] = {};
    if (bpf_core_type_exists(struct mm_rss_stat)) {
        struct mm_struct___sums* sums = memory;
        counts[0] = BPF_CORE_READ(sums, rss_stat.count[0].counter);
        counts[1] = BPF_CORE_READ(sums, rss_stat.count[1].counter);
        counts[2] = BPF_CORE_READ(sums, rss_stat.count[3].counter);
    } else {
        struct mm_struct___by_cpu* sums = memory;
        counts[0] = BPF_CORE_READ(sums, rss_stat[0].count);
        counts[1] = BPF_CORE_READ(sums, rss_stat[1].count);
        counts[2] = BPF_CORE_READ(sums, rss_stat[3].count);
    }
    return counts[0] + counts[1] + counts[2];
}

static __noinline __s32 error_number(struct task_struct* task) {
    if (!errno_slot) return 0;
    __s64 offset = 0;
    __s32 number = 0;
    if (bpf_probe_read_user(&offset, sizeof(offset), (const void*)errno_slot)) return 0;
    __u64 base = BPF_CORE_READ(task, thread.fsbase);
    if (bpf_probe_read_user(&number, sizeof(number), (const void*)(base + offset))) return 0;
    return number;
}

static __always_inline bool result_fails(struct lagtrap_object_function* function, __u64 result) {
    __s32 low = result;
    bool is_small = result >> 32 == 0;
    for (int i = 0; i < LAGTRAP_OBJECT_SUCCESSES; i++)
        if (i < function->successes && function->success[i] == (is_small ? low : (__s64)result))
            return false;
    switch (function->failure) {
        case LAGTRAP_FAILS_NEGATIVE: return (__s64)result < 0 || (is_small && low < 0);
        case LAGTRAP_FAILS_NULL: return result == 0;
        case LAGTRAP_FAILS_NONZERO: return low != 0;
        case LAGTRAP_FAILS_NOT_POSITIVE: return (__s64)result <= 0 || (is_small && low <= 0);
        case LAGTRAP_FAILS_MINUS_ONE: return low == -1;
        default: return false;
    }
}

/* Whether a failed call is excepted by its errno: the caller retries it, or it continues in the
 * background. */
static __noinline bool is_excepted(struct lagtrap_object_function* function) {
    if (!function || !function->except[0]) return false;
    __s32 number = error_number(bpf_get_current_task_btf());
    for (int i = 0; i < LAGTRAP_OBJECT_EXCEPTS; i++)
        if (number && function->except[i] == number) return true;
    return false;
}

struct ending {
    __u64 now_ns;
    __u64 result;
    __u32 left;
    __u32 failed;
};

static __always_inline void describe(struct lagtrap_object_call* call, struct object_thread* thread,
                                     struct object_frame* frame, const struct ending* ending,
                                     __u64 probes_ns) {
    struct task_struct* task = bpf_get_current_task_btf();
    call->begin_ns = frame->begin_ns;
    call->end_ns = ending->now_ns;
    call->probes_ns = probes_ns;
    call->off_cpu_ns = thread->off_cpu_ns - frame->off_cpu_ns;
    call->object = frame->object;
    call->result = ending->result;
    call->taken_bytes = thread->taken_bytes - frame->taken_bytes;
    call->given_bytes = thread->given_bytes - frame->given_bytes;
    call->resident_pages = resident_pages(task) - frame->resident_pages;
    call->allocations = thread->allocations - frame->allocations;
    call->function = frame->function;
    call->tid = task->pid;
    call->error_number = ending->failed && !ending->left ? error_number(task) : 0;
    call->state = frame->state;
    call->failed = ending->failed;
    call->left = ending->left;
    call->depth = thread->depth;
    bpf_get_current_comm(call->comm, sizeof(call->comm));
}

static __noinline void send_texts(struct object_thread* thread, struct object_frame* frame,
                                  struct ending* ending, __u64 probes_ns) {
    struct lagtrap_object_totals* all = all_totals();
    if (!thread || !frame || !ending || !all) return;
    struct lagtrap_object_call_texts* call = bpf_ringbuf_reserve(&records, sizeof(*call), 0);
    if (!call) {
        __sync_fetch_and_add(&all->not_sent, 1);
        return;
    }
    describe(&call->call, thread, frame, ending, probes_ns);
    call->call.has_texts = 1;
    __builtin_memcpy(call->title, frame->title, sizeof(call->title));
    bool thrown = ending->left && ending->failed;
    __builtin_memcpy(call->thrown_type, thread->thrown_type, sizeof(call->thrown_type));
    __builtin_memcpy(call->thrown_text, thread->thrown_text, sizeof(call->thrown_text));
    if (!thrown) call->thrown_type[0] = call->thrown_text[0] = 0;
    bpf_ringbuf_submit(call, BPF_RB_NO_WAKEUP);
    __sync_fetch_and_add(&all->sent, 1);
}

static __noinline void send(struct object_thread* thread, struct object_frame* frame,
                            struct ending* ending, __u64 probes_ns) {
    struct lagtrap_object_totals* all = all_totals();
    if (!thread || !frame || !ending || !all) return;
    struct lagtrap_object_call* call = bpf_ringbuf_reserve(&records, sizeof(*call), 0);
    if (!call) {
        __sync_fetch_and_add(&all->not_sent, 1);
        return;
    }
    describe(call, thread, frame, ending, probes_ns);
    call->has_texts = 0;
    bpf_ringbuf_submit(call, BPF_RB_NO_WAKEUP);
    __sync_fetch_and_add(&all->sent, 1);
}

static __noinline void send_message(struct object_frame* frame, __u64 text) {
    if (!frame || !text) return;
    struct lagtrap_object_message* message = bpf_ringbuf_reserve(&records, sizeof(*message), 0);
    struct lagtrap_object_totals* all = all_totals();
    if (!message) {
        if (all) __sync_fetch_and_add(&all->not_sent, 1);
        return;
    }
    message->at_ns = bpf_ktime_get_ns();
    message->function = frame->function;
    message->tid = bpf_get_current_pid_tgid();
    if (bpf_probe_read_user_str(message->text, sizeof(message->text), (const void*)text) < 0)
        message->text[0] = 0;
    bpf_ringbuf_submit(message, BPF_RB_NO_WAKEUP);
}

/* Ends the innermost open call; `depth` is its index, from 1. */
static __noinline void end_call(struct object_thread* thread, __u32 depth, struct ending* ending) {
    __u32 place = depth - 1;
    struct object_frame* frame = thread && ending ? frame_at(thread, place) : NULL;
    if (!frame) return;
    struct lagtrap_object_function* function = function_of(frame->function);
    struct lagtrap_object_totals* all = all_totals();
    thread->depth = place;
    if (ending->left && frame->jumped_ns) {
        ending->left = 0;
        ending->now_ns = frame->jumped_ns;
    }
    if (!function || !all) return;
    struct object_frame* caller = frame_at(thread, place - 1);
    if (function->role == LAGTRAP_OBJECT_MESSAGE) {
        if (!ending->left)
            send_message(frame, function->object_from == LAGTRAP_FROM_RESULT ? ending->result
                                                                             : frame->place);
        if (caller)
            caller->probes_ns +=
                frame->probes_ns + function->probes.inside_ns + function->probes.around_ns;
        return;
    }
    /* The time of its end is unknown. */
    bool unknown_end = ending->left && function->probes.detached;
    bool thrown = ending->left && thread->thrown_ns > frame->begin_ns;
    bool failed = ending->left ? thrown && !unknown_end : result_fails(function, ending->result);
    if (!ending->left) {
        if (function->object_behind && frame->place) {
            __u64 object = 0;
            bpf_probe_read_user(&object, sizeof(object), (const void*)frame->place);
            frame->object = object;
        } else if (function->object_from == LAGTRAP_FROM_RESULT) {
            frame->object = ending->result >> 32 == 0 && function->reused
                                ? (__u64)(__s64)(__s32)ending->result
                                : ending->result;
        }
    }
    if (function->role == LAGTRAP_OBJECT_CREATE && (!ending->left || frame->inserted))
        end_creation(thread, place, failed || ending->left);
    bool excepted = failed && !ending->left && is_excepted(function);
    if (excepted) {
        failed = false;
        if (function->role == LAGTRAP_OBJECT_CREATE) frame->object = 0;
    }
    leave_stack(frame->stack);
    __u64 whole_ns = less(ending->now_ns, frame->begin_ns);
    __u64 probes_ns = frame->probes_ns + function->probes.inside_ns;
    __u64 net_ns = less(whole_ns, probes_ns);
    if (caller) caller->probes_ns += probes_ns + function->probes.around_ns;
    if (unknown_end) return;
    __sync_fetch_and_add(&function->calls, 1);
    __sync_fetch_and_add(&function->elapsed_ns, net_ns);
    if (failed) {
        __sync_fetch_and_add(&function->failures, 1);
        struct lagtrap_object_class* class = class_of(function->class_number);
        if (class) __sync_fetch_and_add(&class->failures, 1);
    }
    ending->failed = failed;
    bool wanted = failed || frame->wanted || net_ns >= all->limits.min_ns ||
                  function->role != LAGTRAP_OBJECT_USE || frame->state == LAGTRAP_OBJECT_AFTER;
    if (!wanted) return;
    if (caller) caller->wanted = 1;
    if (!failed && (all->room <= 0 || __sync_fetch_and_add(&all->room, -1) <= 0)) {
        __sync_fetch_and_add(&all->not_sent, 1);
        return;
    }
    if (frame->title[0] || thrown) {
        send_texts(thread, frame, ending, probes_ns);
    } else {
        send(thread, frame, ending, probes_ns);
    }
}

#endif
