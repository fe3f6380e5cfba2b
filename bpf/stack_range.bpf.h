/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The mapping that contains a thread's stack, for checking many addresses.
 */
#ifndef LAGTRAP_BPF_STACK_RANGE_BPF_H
#define LAGTRAP_BPF_STACK_RANGE_BPF_H

#include "bpf/kernel.bpf.h"

/* Bounds of a mapping; all of memory if it was not found. */
struct stack_range {
    __u64 begin;
    __u64 end;
};

static long note_range(struct task_struct* task, struct vm_area_struct* area,
                       struct stack_range* range) {
    range->begin = area->vm_start;
    range->end = area->vm_end;
    return 0;
}

static __always_inline void stack_range_of(__u64 place, struct stack_range* range) {
    range->begin = 0;
    range->end = ~0ULL;
    bpf_find_vma(bpf_get_current_task_btf(), place, note_range, range, 0);
}

/* The same, but empty if the mapping is not found. */
static __always_inline void find_stack(__u64 place, struct stack_range* range) {
    range->begin = range->end = 0;
    bpf_find_vma(bpf_get_current_task_btf(), place, note_range, range, 0);
}

static __always_inline bool is_in(const struct stack_range* range, __u64 place) {
    return place >= range->begin && place < range->end;
}

/* A callee's frame this far below its caller's is checked as if it were on another stack. */
#define FAR_BELOW_BYTES (128 * 1024)

static __always_inline bool is_near_below(__u64 callee, __u64 caller) {
    return callee < caller && caller - callee < FAR_BELOW_BYTES;
}

#endif
