/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Stacks of creations. Each is kept once, while objects created there exist; user space removes
 * the others. A walk costs more than a probe, so above a rate, an object shares the last stack
 * of the call that created it.
 */
#ifndef LAGTRAP_BPF_OBJECT_STACKS_BPF_H
#define LAGTRAP_BPF_OBJECT_STACKS_BPF_H

#include "bpf/object_threads.bpf.h"
#include "bpf/stack_id.h"
#include "bpf/user_stack.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, LAGTRAP_OBJECT_STACKS);
    __type(key, __u64);
    __type(value, struct lagtrap_object_stack);
} stacks SEC(".maps");

struct creation_site {
    __u64 caller;
    __u32 function;
    __u32 padding;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, LAGTRAP_OBJECT_STACKS);
    __type(key, struct creation_site);
    __type(value, __u64); /* the last stack walked there */
} site_stacks SEC(".maps");

struct creation_walk {
    struct user_walk walk;
    struct lagtrap_object_stack stack;
};

/* Per thread, because uprobe programs can preempt each other. */
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct creation_walk);
} creation_walks SEC(".maps");

static __always_inline bool share_stack(__u64 id) {
    struct lagtrap_object_stack* stack = bpf_map_lookup_elem(&stacks, &id);
    if (!stack) return false;
    __sync_fetch_and_add(&stack->objects, 1);
    return true;
}

static __always_inline void leave_stack(__u64 id) {
    struct lagtrap_object_stack* stack = id ? bpf_map_lookup_elem(&stacks, &id) : NULL;
    if (stack) __sync_fetch_and_add(&stack->objects, -1);
}

static __noinline __u64 keep_stack(struct creation_walk* creation,
                                   struct lagtrap_object_totals* all) {
    if (!creation || !all) return 0;
    struct lagtrap_object_stack* stack = &creation->stack;
    stack->frame_count = creation->walk.frame_count;
    stack->end = creation->walk.end;
    stack->objects = 1;
    __u64 id = lagtrap_stack_id(0, stack->frames, stack->frame_count);
    if (share_stack(id)) return id;
    long failed = bpf_map_update_elem(&stacks, &id, stack, BPF_NOEXIST);
    if (!failed || share_stack(id)) return id;
    __sync_fetch_and_add(&all->stacks_lost, 1);
    return 0;
}

/* Walks the stack of a creation that begins. Global, so that the verifier checks it once. */
__noinline int walk_creation(struct creation_walk* creation) {
    if (!creation) return 0;
    walk_current_user_stack(&creation->walk, creation->stack.frames, false);
    return creation->walk.frame_count;
}

static __noinline void find_creation_stack(struct object_frame* frame, struct task_struct* task) {
    struct lagtrap_object_totals* all = all_totals();
    if (!frame || !all) return;
    struct creation_site site = {.caller = frame->caller, .function = frame->function};
    __u64* known = bpf_map_lookup_elem(&site_stacks, &site);
    if (known && (all->stack_room <= 0 || __sync_fetch_and_add(&all->stack_room, -1) <= 0)) {
        __u64 id = *known;
        if (share_stack(id)) {
            frame->stack = id;
            frame->shares_stack = 1;
            return;
        }
    }
    struct creation_walk* creation =
        bpf_task_storage_get(&creation_walks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!creation || walk_creation(creation) <= 1) return;
    frame->stack = keep_stack(creation, all);
    if (frame->stack) bpf_map_update_elem(&site_stacks, &site, &frame->stack, BPF_ANY);
}

#endif
