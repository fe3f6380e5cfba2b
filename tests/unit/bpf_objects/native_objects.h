/* The programs that trace objects, compiled for this machine, as tests call them. */
#pragma once

#include "bpf/objects.h"
#include "tests/unit/bpf/traced_programs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Their maps, with the names used there. */
struct object_maps {
    void *functions, *classes, *totals, *alive, *released, *records, *stacks, *site_stacks,
        *exit_sites;
};
extern const struct object_maps object_maps;

/* Constants that user space sets before loading. */
void native_set_errno_slot(__u64 address);
void native_set_memory_by_request(bool by_request);

/* Resident pages of the process of the thread on the CPU: file, anonymous, swap, shared. */
void native_set_resident(const __s64 pages[4]);

/* The registers with which each thread left user space: of tests/unit/bpf/kernel_types.hpp. */
void native_set_registers(void* registers);

int on_object_jump(struct pt_regs* registers);
int on_throw(struct pt_regs* registers);
int on_catch(struct pt_regs* registers);
int on_memory_call(struct pt_regs* registers);
int on_memory_exit(struct pt_regs* registers);
int on_memory_return(struct pt_regs* registers);
void native_switch(void* prev, void* next);

/* Puts a stack that was walked at a call of the function from there. */
void native_keep_stack(__u64 caller, __u32 function, __u64 id);

#ifdef __cplusplus
}
#endif
