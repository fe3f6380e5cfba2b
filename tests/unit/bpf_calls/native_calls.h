/* The programs that trace call trees, compiled for this machine, as tests call them. */
#pragma once

#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>

#include "bpf/calls.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Their maps, with the names used there. */
struct call_maps {
    void *trees, *nodes, *counts, *totals, *done_trees, *goroutines, *indirect_sites, *seen_targets,
        *exit_sites;
};
extern const struct call_maps call_maps;

extern __u32 open_trees;

/* Constants that user space sets before loading. */
void native_set_target(__u32 pid);
void native_set_owner(bool asked, __u32 uid);
void native_set_min_ns(__u64 min_ns);
void native_set_goid_offset(__u32 bytes);

/* Clears all maps, and resets the programs' variables to their values at load time. */
void native_load_programs(void);
/* The thread on the CPU: of tests/unit/bpf/kernel_types.hpp. */
void native_set_task(void* task);
/* A memory area of its process; NULL: none. */
void native_set_area(void* area);
/* The base of its thread-local variables. */
void native_set_thread_base(__u64 base);

int on_call(struct pt_regs* registers);
int on_call_exit(struct pt_regs* registers);
int on_call_return(struct pt_regs* registers);
int on_go_call(struct pt_regs* registers);
int on_go_exit(struct pt_regs* registers);
int on_indirect_call(struct pt_regs* registers);
int on_go_indirect_call(struct pt_regs* registers);

/* The same for programs whose arguments are kernel types. */
void native_switch(bool preempt, void* prev, void* next, unsigned int prev_state);
void native_waking(void* task);
void native_exit_of_thread(void* task);
void native_exec_of_thread(void* task);

#ifdef __cplusplus
}
#endif
