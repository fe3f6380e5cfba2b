/* The programs that trace functions, compiled for this machine, as tests call them. */
#pragma once

#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>

#include "bpf/functions.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Their maps, with the names used there. */
struct function_maps {
    void *functions, *totals, *traced_calls, *runtime_sites, *runtime_names, *exit_sites;
};
extern const struct function_maps function_maps;

void native_set_target(__u32 pid); /* a constant that user space sets before loading */

/* Clears all maps, and resets the programs' variables to their values at load time. */
void native_load_programs(void);
/* The thread on the CPU: of tests/unit/bpf/kernel_types.hpp. */
void native_set_task(void* task);
/* Memory areas of its process; NULL: none. */
void native_set_areas(void* one, void* other);
/* Where the process's first stack begins, and the base of its thread-local variables. */
void native_set_own_stack(__u64 start_stack, __u64 thread_base);

int on_traced_call(struct pt_regs* registers);
int on_traced_exit(struct pt_regs* registers);
int on_traced_return(struct pt_regs* registers);
int on_runtime_entry(struct pt_regs* registers);
int on_runtime_return(struct pt_regs* registers);
void native_switch(void* prev, void* next);

#ifdef __cplusplus
}
#endif
