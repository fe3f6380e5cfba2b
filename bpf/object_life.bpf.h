/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Tracks what a call does to its object. Used by objects.bpf.c at the begin and end of calls.
 */
#ifndef LAGTRAP_BPF_OBJECT_LIFE_BPF_H
#define LAGTRAP_BPF_OBJECT_LIFE_BPF_H

#include "bpf/object_stacks.bpf.h"

/* Finds out whether an enclosing open call creates or releases the object. */
struct object_walk {
    struct object_thread* thread;
    __u64 object;
    __u32 rule;
    __u32 place; /* next to check, from 1 */
    __u32 found;
};

static long find_owner(__u32 index, struct object_walk* walk) {
    struct object_frame* frame = frame_at(walk->thread, walk->place - 1);
    if (!frame) return 1;
    struct lagtrap_object_function* function = function_of(frame->function);
    if (function && frame->object == walk->object && function->rule == walk->rule &&
        (function->role == LAGTRAP_OBJECT_CREATE || function->role == LAGTRAP_OBJECT_RELEASE)) {
        walk->found = 1;
        return 1;
    }
    walk->place--;
    return 0;
}

static __noinline bool is_owned(struct object_thread* thread, __u32 place, __u64 object,
                                __u32 rule) {
    struct object_walk walk = {.thread = thread, .object = object, .rule = rule, .place = place};
    bpf_loop(LAGTRAP_OBJECT_DEPTH, find_owner, &walk, 0);
    return walk.found;
}

static __always_inline void keep_alive(struct object_frame* frame,
                                       struct lagtrap_object_function* function,
                                       struct lagtrap_object_key* key, bool open) {
    struct lagtrap_object_class* class = class_of(function->class_number);
    if (!class) return;
    struct lagtrap_object_alive fresh = {.created_ns = frame->begin_ns,
                                         .caller = frame->caller,
                                         .function = frame->function,
                                         .class_number = function->class_number,
                                         .tid = bpf_get_current_pid_tgid(),
                                         .open = open};
    __builtin_memcpy(fresh.title, frame->title, sizeof(fresh.title));
    bpf_map_delete_elem(&released, key);
    struct lagtrap_object_alive* before = bpf_map_lookup_elem(&alive, key);
    __u64 stack = before ? before->stack : 0;
    if (bpf_map_update_elem(&alive, key, &fresh, BPF_ANY)) {
        /* tried again at the end of the creation */
        if (!open) __sync_fetch_and_add(&class->not_followed, 1);
        return;
    }
    leave_stack(stack);
    frame->inserted = 1;
}

/* Begins a creation whose object is known beforehand. A creation within another one is a base
 * class's constructor, or one that the outer constructor delegates to. */
static __noinline void begin_creation(struct object_thread* thread, __u32 place) {
    struct object_frame* frame = frame_at(thread, place);
    struct lagtrap_object_function* function = frame ? function_of(frame->function) : NULL;
    if (!function) return;
    if (is_owned(thread, place, frame->object, function->rule)) {
        frame->state = LAGTRAP_OBJECT_WITHIN;
        return;
    }
    struct lagtrap_object_key key = {.object = frame->object, .rule = function->rule};
    struct lagtrap_object_alive* before = bpf_map_lookup_elem(&alive, &key);
    if (before) {
        struct lagtrap_object_class* class = class_of(before->class_number);
        if (class && !before->open) __sync_fetch_and_add(&class->replaced, 1);
    }
    frame->state = LAGTRAP_OBJECT_CREATED;
    keep_alive(frame, function, &key, true);
}

/* An object that an inner creation of the same call made is credited to the outer one. */
static __noinline void end_creation(struct object_thread* thread, __u32 place, bool failed) {
    struct object_frame* frame = frame_at(thread, place);
    struct lagtrap_object_function* function = frame ? function_of(frame->function) : NULL;
    if (!function || frame->state == LAGTRAP_OBJECT_WITHIN) return;
    struct lagtrap_object_key key = {.object = frame->object, .rule = function->rule};
    struct lagtrap_object_class* class = class_of(function->class_number);
    if (!class || !key.object) return;
    /* Even then, a library may return an object that must be released (sqlite3_open()). */
    if (failed && (frame->inserted || !function->object_behind)) {
        if (frame->inserted) bpf_map_delete_elem(&alive, &key);
        return;
    }
    struct lagtrap_object_alive* known = bpf_map_lookup_elem(&alive, &key);
    if (!frame->inserted) {
        if (known && known->created_ns >= frame->begin_ns) {
            struct lagtrap_object_class* inner = class_of(known->class_number);
            if (inner) __sync_fetch_and_add(&inner->created, -1);
        } else if (known) {
            struct lagtrap_object_class* before = class_of(known->class_number);
            if (before) __sync_fetch_and_add(&before->replaced, 1);
        }
        keep_alive(frame, function, &key, false);
        known = bpf_map_lookup_elem(&alive, &key);
    }
    frame->state = LAGTRAP_OBJECT_CREATED;
    __sync_fetch_and_add(&class->created, 1);
    if (!known) return;
    known->open = 0;
    known->stack = frame->stack;
    known->shares_stack = frame->shares_stack;
    frame->stack = 0;
    known->bytes = (__s64)(thread->taken_bytes - frame->taken_bytes) -
                   (__s64)(thread->given_bytes - frame->given_bytes);
}

static __noinline void use_object(struct object_thread* thread, __u32 place) {
    struct object_frame* frame = frame_at(thread, place);
    struct lagtrap_object_function* function = frame ? function_of(frame->function) : NULL;
    if (!function || (!frame->object && !function->reused)) return;
    struct lagtrap_object_key key = {.object = frame->object, .rule = function->rule};
    struct lagtrap_object_alive* known = bpf_map_lookup_elem(&alive, &key);
    if (known) {
        __sync_fetch_and_add(&known->uses, 1);
        frame->state = LAGTRAP_OBJECT_ALIVE;
        return;
    }
    struct lagtrap_object_class* class = class_of(function->class_number);
    if (!class) return;
    if (is_owned(thread, place, frame->object, function->rule)) {
        frame->state = LAGTRAP_OBJECT_WITHIN;
    } else if (!function->reused && bpf_map_lookup_elem(&released, &key)) {
        frame->state = LAGTRAP_OBJECT_AFTER;
        __sync_fetch_and_add(&class->used_after, 1);
    } else if (!function->reused) {
        __sync_fetch_and_add(&class->unknown, 1);
    }
}

/* At the call's begin: when it ends, another thread may already have created an object with the
 * same number. */
static __noinline void release_object(struct object_thread* thread, __u32 place) {
    struct object_frame* frame = frame_at(thread, place);
    struct lagtrap_object_function* function = frame ? function_of(frame->function) : NULL;
    if (!function || (!frame->object && !function->reused)) return;
    struct lagtrap_object_key key = {.object = frame->object, .rule = function->rule};
    struct lagtrap_object_alive* known = bpf_map_lookup_elem(&alive, &key);
    __u32 number = function->class_number;
    if (known && !known->open) {
        number = known->class_number;
        __u64 stack = known->stack;
        struct lagtrap_object_class* class = class_of(number);
        if (!bpf_map_delete_elem(&alive, &key)) leave_stack(stack);
        if (class) __sync_fetch_and_add(&class->released, 1);
        frame->state = LAGTRAP_OBJECT_RELEASED;
    } else {
        struct lagtrap_object_class* class = class_of(number);
        if (!class) return;
        if (is_owned(thread, place, frame->object, function->rule)) {
            frame->state = LAGTRAP_OBJECT_WITHIN;
            return;
        }
        if (!function->reused && bpf_map_lookup_elem(&released, &key)) {
            frame->state = LAGTRAP_OBJECT_TWICE;
            __sync_fetch_and_add(&class->released_twice, 1);
            return;
        }
        if (!function->reused) __sync_fetch_and_add(&class->unknown, 1);
    }
    bpf_map_update_elem(&released, &key, &number, BPF_ANY);
}

#endif
