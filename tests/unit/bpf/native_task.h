/* For C files that compile BPF programs for this machine: the task on the CPU, whose structures a
 * test fills (kernel_types.hpp). Include it after the programs. */
#pragma once

#include "tests/unit/bpf/native_setup.h"

static struct task_struct* current_task;
static struct vm_area_struct* areas[2]; /* of its process; NULL: none */
/* Parts of every task; NULL: none. */
static void* user_registers;
static struct task_struct___base* base_of_task;
static struct task_struct___memory* memory_of_task;

void native_set_task(void* task) { current_task = task; }
void native_set_areas(void* one, void* other) {
    areas[0] = one;
    areas[1] = other;
}

static void forget_task(void) {
    native_set_task(NULL);
    native_set_areas(NULL, NULL);
    user_registers = NULL;
    base_of_task = NULL;
    memory_of_task = NULL;
}

struct task_struct* bpf_get_current_task_btf(void) {
    return current_task;
}
__u64 bpf_get_current_task(void) { return (__u64)current_task; }
void* bpf_task_pt_regs(struct task_struct* task) { return user_registers; }
struct vm_area_struct* native_area_at(__u64 place) {
    for (int i = 0; i < 2; i++)
        if (areas[i] && place >= areas[i]->vm_start && place < areas[i]->vm_end) return areas[i];
    return NULL;
}
void* bpf_rdonly_cast(const void* object, __u32 type) { return native_same(object); }
struct task_struct___started* native_started(const void* task) {
    return NULL;
}
struct task_struct___leader* native_leader(const void* task) {
    return NULL;
}
struct task_struct___base* native_base(const void* task) {
    return base_of_task;
}
struct task_struct___memory* native_memory(const void* task) {
    return memory_of_task;
}
