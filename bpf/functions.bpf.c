/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * A light trace of many functions of one process: counts calls when they end, and sends long
 * ones.
 *
 * A frame is identified by its stack pointer, as in calls.bpf.c. Uprobe programs may be
 * preempted. A thread's state is written by programs running in that thread, and by the
 * scheduler's tracepoint, which adds to a single sum.
 */
#include "bpf/functions.h"

#include "bpf/kernel.bpf.h"
#include "bpf/stack_range.bpf.h"

#define TRACED_FUNCTION struct lagtrap_traced_function
#define TRACED_FUNCTIONS LAGTRAP_TRACED_FUNCTIONS
#define TRACED_TOTALS struct lagtrap_traced_totals
#define TRACED_RECORDS LAGTRAP_TRACED_RING_BYTES
#include "bpf/traced_functions.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct traced_frame {
    __u64 stack_pointer; /* at the first instruction */
    __u64 begin_ns;
    __u64 off_cpu_ns;  /* the thread's sum at the begin */
    __u64 children_ns; /* time in direct callees, including probe overhead around them */
    __u64 probes_ns;   /* probe time of all calls below it */
    __u32 function;
    __u32 padding;
};

struct traced_thread {
    __u64 off_cpu_ns;
    __u64 left_cpu_ns; /* 0: on a CPU */
    __u32 depth;
    __u32 padding;
    struct traced_frame frames[LAGTRAP_TRACED_DEPTH];
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct traced_thread);
} threads SEC(".maps");

static __always_inline struct traced_frame* frame_at(struct traced_thread* thread, __u32 place) {
    if (place >= LAGTRAP_TRACED_DEPTH) return NULL;
    __u64 bounded = place;
    KEEP_BITS(bounded, LAGTRAP_TRACED_DEPTH - 1);
    return &thread->frames[bounded];
}

/* For calls that a runtime reports: they have a stack of their own, so the last to begin is the
 * innermost. */
struct runtime_thread {
    struct lagtrap_runtime_key key; /* of the current hit */
    __u32 epoch;
    __u32 padding;
    struct traced_thread calls;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct runtime_thread);
} runtime_threads SEC(".maps");

static __always_inline void leaves_cpu(struct traced_thread* thread) {
    thread->left_cpu_ns = bpf_ktime_get_ns();
}

static __always_inline void gets_cpu(struct traced_thread* thread) {
    if (!thread->left_cpu_ns) return;
    thread->off_cpu_ns += bpf_ktime_get_ns() - thread->left_cpu_ns;
    thread->left_cpu_ns = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(count_off_cpu, bool preempt, struct task_struct* prev, struct task_struct* next) {
    if (prev->tgid == target_pid) {
        struct traced_thread* thread = bpf_task_storage_get(&threads, prev, NULL, 0);
        if (thread) leaves_cpu(thread);
        struct runtime_thread* runtime = bpf_task_storage_get(&runtime_threads, prev, NULL, 0);
        if (runtime) leaves_cpu(&runtime->calls);
    }
    if (next->tgid == target_pid) {
        struct traced_thread* thread = bpf_task_storage_get(&threads, next, NULL, 0);
        if (thread) gets_cpu(thread);
        struct runtime_thread* runtime = bpf_task_storage_get(&runtime_threads, next, NULL, 0);
        if (runtime) gets_cpu(&runtime->calls);
    }
    return 0;
}

static __always_inline void keep_path(struct traced_thread* thread,
                                      struct lagtrap_traced_function* function, __u32 depth) {
    __u32 length = 0;
    for (__u32 i = 0; i < LAGTRAP_LONGEST_PATH; i++) {
        struct traced_frame* caller = frame_at(thread, depth - 1 - i);
        if (!caller) break;
        function->path[i] = caller->function;
        length = i + 1;
    }
    function->path_length = length;
}

static __always_inline void send(struct traced_frame* frame, struct lagtrap_traced_totals* all,
                                 __u64 now_ns, __u64 probes_ns, __u64 off_cpu_ns, __u32 end) {
    struct lagtrap_traced_call* call = bpf_ringbuf_reserve(&records, sizeof(*call), 0);
    if (!call) {
        __sync_fetch_and_add(&all->not_sent, 1);
        return;
    }
    call->begin_ns = frame->begin_ns;
    call->end_ns = now_ns;
    call->probes_ns = probes_ns;
    call->off_cpu_ns = off_cpu_ns - frame->off_cpu_ns;
    call->function = frame->function;
    call->tid = bpf_get_current_pid_tgid();
    call->end = end;
    call->padding = 0;
    bpf_get_current_comm(call->comm, sizeof(call->comm));
    bpf_ringbuf_submit(call, 0);
    __sync_fetch_and_add(&all->sent, 1);
}

/* Ends the innermost open call; `depth` is its index, from 1. */
static __noinline void end_call(struct traced_thread* thread, __u32 depth, __u64 now_ns,
                                __u32 end) {
    __u32 place = depth - 1;
    struct traced_frame* frame = thread ? frame_at(thread, place) : NULL;
    if (!frame) return;
    struct lagtrap_traced_function* function = function_of(frame->function);
    struct lagtrap_traced_totals* all = all_totals();
    thread->depth = place;
    if (!function || !all) return;
    struct traced_frame* caller = frame_at(thread, place - 1);
    /* The time of its end is unknown, so pass what is known of its callees to its caller. */
    if (end != LAGTRAP_TRACED_RETURNED && function->probes.detached) {
        if (!caller) return;
        caller->children_ns += frame->children_ns;
        caller->probes_ns += frame->probes_ns;
        return;
    }
    __u64 whole_ns = less(now_ns, frame->begin_ns);
    __u64 probes_ns = frame->probes_ns + function->probes.inside_ns;
    __u64 net_ns = less(whole_ns, probes_ns);
    __sync_fetch_and_add(&function->calls, 1);
    __sync_fetch_and_add(&function->own_ns,
                         less(whole_ns, frame->children_ns + function->probes.inside_ns));
    if (end != LAGTRAP_TRACED_RETURNED) __sync_fetch_and_add(&function->left, 1);
    if (net_ns > function->longest_ns) {
        function->longest_ns = net_ns;
        keep_path(thread, function, place);
    }
    if (caller) {
        caller->children_ns += whole_ns + function->probes.around_ns;
        caller->probes_ns += probes_ns + function->probes.around_ns;
    }
    /* If some begins are not reported, this end may belong to a call inside this one. */
    if (net_ns >= all->limits.min_ns && !function->unbegun)
        send(frame, all, now_ns, probes_ns, thread->off_cpu_ns, end);
}

static __always_inline void end_left_call(struct traced_thread* thread, __u32 depth, __u64 now_ns) {
    end_call(thread, depth, now_ns, LAGTRAP_TRACED_LEFT);
}

#define OPEN_CALLS_THREAD struct traced_thread
#define OPEN_CALLS_FRAME struct traced_frame
#include "bpf/open_calls.bpf.h"

struct frame_caller_walk {
    struct traced_thread* thread;
    __u64 stack_pointer;
    struct stack_range stack; /* that contains it */
    __u32 place;              /* next to check, from 1 */
    __u32 caller;             /* out: the caller's index, from 1; 0 if there is none */
    __u32 function;           /* that begins */
    __u32 found;              /* the call is already known */
    __u32 relinking;
    __u32 padding;
};

/* Finds the caller of what begins at this place of the stack, like find_caller() in calls.bpf.c. */
static long find_caller(__u32 index, struct frame_caller_walk* walk) {
    struct traced_frame* frame = frame_at(walk->thread, walk->place - 1);
    if (!frame) return 1;
    if (is_in(&walk->stack, frame->stack_pointer)) {
        if (frame->stack_pointer > walk->stack_pointer) {
            walk->caller = walk->place;
            return 1;
        }
        walk->found = frame->stack_pointer == walk->stack_pointer &&
                      frame->function == walk->function && walk->relinking;
        if (walk->found) return 1;
        walk->caller = walk->place - 1;
    }
    walk->place--;
    return 0;
}

/* Opens a call within the innermost one. */
static __always_inline void open_call(struct traced_thread* thread, __u32 function,
                                      __u64 stack_pointer) {
    __u32 place = thread->depth;
    struct traced_frame* frame = frame_at(thread, place);
    if (!frame) {
        struct lagtrap_traced_totals* all = all_totals();
        if (all) __sync_fetch_and_add(&all->too_deep, 1);
        return;
    }
    frame->stack_pointer = stack_pointer;
    frame->off_cpu_ns = thread->off_cpu_ns;
    frame->children_ns = 0;
    frame->probes_ns = 0;
    frame->function = function;
    thread->depth = place + 1;
    frame->begin_ns = bpf_ktime_get_ns();
}

SEC("uprobe")
int on_call(struct pt_regs* ctx) {
    __u32 number = bpf_get_attach_cookie(ctx);
    struct task_struct* task = bpf_get_current_task_btf();
    if (!is_target(task)) return 0;
    struct lagtrap_traced_function* function = function_of(number);
    if (!function) return 0;
    function->probes.hits++;
    if (function->probes.detached) return 0;
    struct traced_thread* thread =
        bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!thread) return 0;
    __u64 stack_pointer = PT_REGS_SP(ctx);
    struct traced_frame* innermost = frame_at(thread, thread->depth - 1);
    if (innermost && !is_near_below(stack_pointer, innermost->stack_pointer)) {
        struct lagtrap_traced_totals* all = all_totals();
        __u64 now_ns = bpf_ktime_get_ns();
        struct frame_caller_walk walk = {
            .thread = thread,
            .stack_pointer = stack_pointer,
            .place = thread->depth,
            .caller = thread->depth,
            .function = number,
            .relinking = all && now_ns < all->limits.relinking_until_ns};
        stack_range_of(stack_pointer, &walk.stack);
        bpf_loop(LAGTRAP_TRACED_DEPTH, find_caller, &walk, 0);
        if (walk.found) return 0;
        struct open_call_walk left = {.thread = thread, .now_ns = now_ns, .found = walk.caller};
        bpf_loop(LAGTRAP_TRACED_DEPTH, end_inner, &left, 0);
    }
    open_call(thread, number, stack_pointer);
    return 0;
}

static __always_inline int on_left(struct pt_regs* ctx, __u32 number, __u64 stack_pointer,
                                   bool shared) {
    __u64 now_ns = bpf_ktime_get_ns();
    struct task_struct* task = bpf_get_current_task_btf();
    if (!is_target(task)) return 0;
    struct traced_thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    if (!thread) return 0;
    __u32 depth =
        find_end_of_call(thread, LAGTRAP_TRACED_DEPTH, stack_pointer, number, shared, now_ns);
    if (!depth) return 0;
    end_call(thread, depth, now_ns, LAGTRAP_TRACED_RETURNED);
    return 0;
}

#include "bpf/runtime_calls.bpf.h"
