/* Stands in for the kernel around BPF programs compiled for this machine: the C interface for
 * the programs and for tests. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A thread as the kernel's structures show it to a program. */
struct native_thread {
    __u32 pid;
    __u32 tid;
    __u32 uid;
    __u32 user_namespace; /* the outermost one below the initial one; 0: none */
    __u32 namespace_owner;
    bool nested;                 /* in one more, which it owns */
    __u32 pid_namespace;         /* as user_namespace */
    bool machines_pid_namespace; /* created in the initial user namespace */
    __u64 started_ns;
    __u64 process_started_ns;
    int priority;
    bool throttled; /* its control group has used up its quota */
    bool in_iowait;
    bool frozen;
    bool is_32_bit;
    __u64 ran_ns;            /* the kernel's own count of its time on CPUs */
    __u64 call;              /* number of its system call; all ones: none (an exception) */
    __u64 call_arguments[2]; /* the first two */
    int preempt_count;
    bool on_cpu;           /* it has not left its CPU yet */
    __u32 woken_state;     /* `__state` if it was woken before it left its CPU */
    bool woken_early;      /* it was */
    __u64 group;           /* its control group */
    __u64 program_counter; /* where it is in its program; 0: nowhere */
    __u32 ancestors[2];    /* processes: its parent, and the parent's */
    __u64 program_inode;   /* of the file that it runs */
    __u32 program_device;
    char comm[16];
};

/* The thread on the CPU that the test selected. */
const struct native_thread* native_current(void);

/* Registers an empty map under the address of the program's variable. */
void native_define_map(const void* map, __u32 type, __u32 max_entries, __u32 key_size,
                       __u32 value_size);

/* Updates as user space does (any existing value); returns 0 or a negative errno. */
long native_update(void* map, const void* key, const void* value);

#ifdef __cplusplus
}
#endif
