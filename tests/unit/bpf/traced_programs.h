/* What tests call of the programs of a trace (traced_functions.bpf.h). */
#pragma once

#include <linux/ptrace.h>
#include <linux/types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Clears all maps, and resets the programs' variables to their values at load time. */
void native_load_programs(void);

/* Constants that user space sets before loading. */
void native_set_target(__u32 pid);
void native_set_owner(bool asked, __u32 uid);

/* The thread on the CPU: of tests/unit/bpf/kernel_types.hpp. */
void native_set_task(void* task);
/* Memory areas of its process; NULL: none. */
void native_set_areas(void* one, void* other);

int on_call(struct pt_regs* registers);
int on_call_exit(struct pt_regs* registers);
int on_call_return(struct pt_regs* registers);

#ifdef __cplusplus
}
#endif
