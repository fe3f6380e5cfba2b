/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * A thread's open calls, innermost last, when one of them ends. Before including this, define
 * the thread and frame types (OPEN_CALLS_THREAD, OPEN_CALLS_FRAME), frame_at(), and
 * end_left_call() for a call left without returning.
 */
#ifndef LAGTRAP_BPF_OPEN_CALLS_BPF_H
#define LAGTRAP_BPF_OPEN_CALLS_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/one_stack.bpf.h"

/* A walk from the innermost open call outwards. */
struct open_call_walk {
    OPEN_CALLS_THREAD* thread;
    __u64 stack_pointer;
    __u64 now_ns;
    __u32 function; /* that begins or ends */
    __u32 found;    /* out: the call's index, from 1 */
    __u32 place;    /* next to check, from 1 */
    __u32 shared;   /* accept any function */
    __u32 relinking;
    __u32 padding;
};

/* Finds the open call that ends here. Only deeper calls can have been left without being seen. */
static long find_ended(__u32 index, struct open_call_walk* walk) {
    OPEN_CALLS_FRAME* frame = frame_at(walk->thread, walk->place - 1);
    if (!frame) return 1;
    if (frame->stack_pointer == walk->stack_pointer &&
        (walk->shared || frame->function == walk->function)) {
        walk->found = walk->place;
        return 1;
    }
    if (frame->stack_pointer > walk->stack_pointer &&
        on_one_stack(frame->stack_pointer, walk->stack_pointer))
        return 1;
    walk->place--;
    return 0;
}

static long end_inner(__u32 index, struct open_call_walk* walk) {
    if (walk->thread->depth <= walk->found) return 1;
    end_left_call(walk->thread, walk->thread->depth, walk->now_ns);
    return 0;
}

/* Ends all calls below the one that ends here. Returns its index, from 1; 0 if it is unknown. */
static __always_inline __u32 find_end_of_call(OPEN_CALLS_THREAD* thread, __u32 max_depth,
                                              __u64 stack_pointer, __u32 function, bool shared,
                                              __u64 now_ns) {
    __u32 depth = thread->depth;
    OPEN_CALLS_FRAME* innermost = frame_at(thread, depth - 1);
    if (!innermost) return 0;
    if (innermost->stack_pointer == stack_pointer && (shared || innermost->function == function))
        return depth;
    struct open_call_walk walk = {.thread = thread,
                                  .stack_pointer = stack_pointer,
                                  .now_ns = now_ns,
                                  .function = function,
                                  .place = depth,
                                  .shared = shared};
    bpf_loop(max_depth, find_ended, &walk, 0);
    if (walk.found) bpf_loop(max_depth, end_inner, &walk, 0);
    return walk.found;
}

#endif
