/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Whether two addresses are on the same stack of the running thread, judged by its mappings.
 * Cannot tell stacks in one mapping apart.
 */
#ifndef LAGTRAP_BPF_ONE_STACK_BPF_H
#define LAGTRAP_BPF_ONE_STACK_BPF_H

#include "bpf/kernel.bpf.h"

static long note_start(struct task_struct* task, struct vm_area_struct* area, __u64* start) {
    *start = area->vm_start;
    return 0;
}

static __noinline bool on_one_stack(__u64 one, __u64 other) {
    struct task_struct* task = bpf_get_current_task_btf();
    __u64 starts[2] = {0, 1};
    bpf_find_vma(task, one, note_start, &starts[0], 0);
    bpf_find_vma(task, other, note_start, &starts[1], 0);
    return starts[0] == starts[1] || starts[0] == 0 || starts[1] == 1;
}

#endif
