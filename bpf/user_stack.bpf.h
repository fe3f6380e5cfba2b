/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The unwinder: how the frames of a user stack are found. A part of its own, so that another method can take
 * its place: callers give room for LAGTRAP_MAX_FRAMES frames and get their number and why the walk ended.
 * This one follows frame pointers.
 */
#ifndef LAGTRAP_BPF_USER_STACK_BPF_H
#define LAGTRAP_BPF_USER_STACK_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/records.h"

struct user_walk {
    __u16 frame_count;
    __u8 end; /* enum lagtrap_stack_end */
};

/* The stack of the current thread, from any context that has its registers. */
static __always_inline struct user_walk walk_current_user_stack(void* ctx, __u64* frames) {
    struct user_walk walk = {};
    long bytes = bpf_get_stack(ctx, frames, LAGTRAP_MAX_FRAMES * sizeof(__u64), BPF_F_USER_STACK);
    if (bytes > 0) walk.frame_count = bytes / sizeof(__u64);
    if (walk.frame_count == LAGTRAP_MAX_FRAMES) walk.end = LAGTRAP_STACK_END_TOO_DEEP;
    return walk;
}

struct sleeping_walk_state {
    struct task_struct* task;
    __u64* frames;
    __u64 frame_pointer;
    __u32 frame_count;
    __u32 end;
};

static long walk_sleeping_frame(__u32 step, struct sleeping_walk_state* state) {
    __u64 pair[2] = {}; /* caller's frame pointer, return address */
    if (state->frame_pointer == 0 || (state->frame_pointer & 7)) return 1;
    if (bpf_copy_from_user_task(pair, sizeof(pair), (void*)state->frame_pointer, state->task, 0)) {
        state->end = LAGTRAP_STACK_END_BAD_ADDRESS;
        return 1;
    }
    if (pair[1] == 0) return 1;
    __u32 place = state->frame_count;
    if (place >= LAGTRAP_MAX_FRAMES) {
        state->end = LAGTRAP_STACK_END_TOO_DEEP;
        return 1;
    }
    state->frames[place] = pair[1];
    state->frame_count = place + 1;
    if (pair[0] <= state->frame_pointer) return 1; /* stacks grow down: callers lie higher */
    state->frame_pointer = pair[0];
    return 0;
}

/* The stack of a thread that sleeps; from a sleepable program only, as its memory may have to be fetched. */
static __always_inline struct user_walk walk_sleeping_user_stack(struct task_struct* task, __u64* frames) {
    struct pt_regs___kernel* registers = (void*)bpf_task_pt_regs(task);
    struct user_walk walk = {};
    if (!registers) return walk;
    frames[0] = BPF_CORE_READ(registers, ip);
    struct sleeping_walk_state state = {
        .task = task, .frames = frames, .frame_pointer = BPF_CORE_READ(registers, bp), .frame_count = 1};
    if (frames[0] == 0) return walk;
    bpf_loop(LAGTRAP_MAX_FRAMES, walk_sleeping_frame, &state, 0);
    walk.frame_count = state.frame_count;
    walk.end = state.end;
    return walk;
}

#endif
