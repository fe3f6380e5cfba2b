/* The programs that trace functions, compiled for this machine, as tests call them. */
#pragma once

#include "bpf/functions.h"
#include "tests/unit/bpf/traced_programs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Their maps, with the names used there. */
struct function_maps {
    void *functions, *totals, *records, *runtime_sites, *runtime_names, *exit_sites;
};
extern const struct function_maps function_maps;

/* Where the process's first stack begins, and the base of its thread-local variables. */
void native_set_own_stack(__u64 start_stack, __u64 thread_base);

int on_runtime_entry(struct pt_regs* registers);
int on_runtime_return(struct pt_regs* registers);
void native_switch(void* prev, void* next);

#ifdef __cplusplus
}
#endif
