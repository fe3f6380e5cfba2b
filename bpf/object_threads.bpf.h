/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * State of objects.bpf.c: threads' open calls, and living and released objects.
 */
#ifndef LAGTRAP_BPF_OBJECT_THREADS_BPF_H
#define LAGTRAP_BPF_OBJECT_THREADS_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/objects.h"

#define TRACED_FUNCTION struct lagtrap_object_function
#define TRACED_FUNCTIONS LAGTRAP_OBJECT_FUNCTIONS
#define TRACED_TOTALS struct lagtrap_object_totals
#define TRACED_RECORDS LAGTRAP_OBJECT_RING_BYTES
#include "bpf/traced_functions.bpf.h"

const volatile __u64 errno_slot =
    0; /* address of the word with errno's offset from the thread's base; 0: unknown */

const volatile __u8 memory_by_request =
    0; /* blocks do not store their size: remember the requested size */

struct object_frame {
    __u64 stack_pointer; /* at the first instruction */
    __u64 begin_ns;
    __u64 off_cpu_ns; /* the thread's sum at the begin, like the next three */
    __u64 taken_bytes;
    __u64 given_bytes;
    __u64 allocations;
    __u64 probes_ns; /* of calls below it, and of the allocator */
    __u64 object;
    __u64 place; /* address where the object's number will be stored */
    __u64 caller;
    __s64 resident_pages;
    __u64 jumped_ns; /* when it tail-called the allocator; 0: it did not */
    __u64 stack;     /* of a creation; moves to the object when that is created */
    __u32 function;
    __u8 state;    /* enum lagtrap_object_state */
    __u8 inserted; /* it added the object to those alive */
    __u8 wanted;   /* a call below it was sent */
    __u8 shares_stack;
    char title[LAGTRAP_OBJECT_TEXT_BYTES];
};

struct object_thread {
    __u64 off_cpu_ns;
    __u64 left_cpu_ns; /* 0: on a CPU */
    __u64 taken_bytes;
    __u64 given_bytes;
    __u64 allocations;
    __u64 changed_bytes; /* size of the block passed to realloc */
    __u64 memory_place;  /* of posix_memalign */
    __u64
        memory_stack_pointer; /* of an open allocator call; 0: none; only with memory_by_request */
    __u64 asked_bytes;
    __u64 thrown_ns;
    __u32 depth;
    __u32 in_change; /* realloc is open */
    char thrown_type[LAGTRAP_OBJECT_TEXT_BYTES];
    char thrown_text[LAGTRAP_OBJECT_TEXT_BYTES];
    struct object_frame frames[LAGTRAP_OBJECT_DEPTH];
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct object_thread);
} threads SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_OBJECT_CLASSES);
    __type(key, __u32);
    __type(value, struct lagtrap_object_class);
} classes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LAGTRAP_OBJECTS_ALIVE);
    __type(key, struct lagtrap_object_key);
    __type(value, struct lagtrap_object_alive);
} alive SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, LAGTRAP_OBJECTS_RELEASED);
    __type(key, struct lagtrap_object_key);
    __type(value, __u32); /* the class */
} released SEC(".maps");

static __always_inline struct lagtrap_object_class* class_of(__u32 number) {
    return bpf_map_lookup_elem(&classes, &number);
}

static __always_inline struct object_frame* frame_at(struct object_thread* thread, __u32 place) {
    if (place >= LAGTRAP_OBJECT_DEPTH) return NULL;
    __u64 bounded = place;
    KEEP_BITS(bounded, LAGTRAP_OBJECT_DEPTH - 1);
    return &thread->frames[bounded];
}

#endif
