/* The programs that trace call trees, compiled for this machine, as tests call them. */
#pragma once

#include "bpf/calls.h"
#include "tests/unit/bpf/traced_programs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Their maps, with the names used there. */
struct call_maps {
    void *trees, *nodes, *functions, *totals, *records, *goroutines, *indirect_sites, *seen_targets,
        *exit_sites;
};
extern const struct call_maps call_maps;

extern __u32 open_trees;

void native_set_goid_offset(__u32 bytes); /* a constant that user space sets before loading */
/* The base of the thread-local variables of the thread on the CPU. */
void native_set_thread_base(__u64 base);

int on_go_call(struct pt_regs* registers);
int on_go_exit(struct pt_regs* registers);
int on_indirect_call(struct pt_regs* registers);
int on_go_indirect_call(struct pt_regs* registers);

/* The same for programs whose arguments are kernel types. */
void native_switch(bool preempt, void* prev, void* next, unsigned int prev_state);
/* `state` is the thread's own by now. */
void native_switch_of_woken(bool preempt, void* prev, void* next, unsigned int prev_state,
                            unsigned int state);
void native_waking(void* task);
void native_exit_of_thread(void* task);
void native_exec_of_thread(void* task);

#ifdef __cplusplus
}
#endif
