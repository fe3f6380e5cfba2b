/* The event monitor's programs, compiled for this machine, as tests call them. */
#pragma once

#include <linux/ptrace.h>

#include "bpf/event_monitor.h"
#include "tests/unit/bpf/native_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Their maps, with the names used there. */
struct native_maps {
    void *event_configs, *event_counters, *open_tags, *open_slots, *notices, *recorded_runs,
        *reported_runs, *run_quotas;
    void *program_starts, *parties_without_recordings, *timed_sets, *thread_times, *marker_configs,
        *argument_sites, *exit_sites;
    void *limited_parties, *scoped_groups, *hits_by_party, *hits_by_process, *walk_scratches;
};
extern const struct native_maps native_maps;

extern volatile struct lagtrap_watch watch;

/* Clears all maps, and resets the programs' variables to their values at load time. */
void native_load_programs(void);
/* Constants that user space sets before loading. */
void native_tell_preempt_count(bool reported);
void native_watch_run_queue(__u32 event);
void native_want_stacks(__u32 scratch_count); /* 0: no event wants stacks */

/* A thread's registers at a probe. */
struct native_registers {
    __u64 stack_pointer;
    __u64 instruction;
    __u64 rdi; /* the key, if the marker or site says so */
    __u64 rsi; /* the time of the begin */
    __u64 rdx; /* the address of a trace id's text */
    __u64 rax;
    __u64 rcx;
    __u64 flags;
};
void native_on_site(const struct native_registers* registers);
void native_on_usdt(const struct native_registers* registers);
void native_on_function(const struct native_registers* registers);
int on_exec(void* ctx);
/* The same with all registers: for Go functions, and for other functions. */
int on_go(struct pt_regs* registers);
int on_function(struct pt_regs* registers);
/* A tracepoint with this record; the kernel attaches one program to each marker. */
int on_tracepoint_0(void* record);
int on_tracepoint_1(void* record);
int on_tracepoint_2(void* record);
int on_tracepoint_3(void* record);

/* register_value() of bpf/usdt_argument.bpf.h. */
__u64 native_register_value(struct pt_regs* registers, __u32 number);

/* The scheduler's tracepoints. */
void native_switch(bool preempt, const struct native_thread* prev, const struct native_thread* next,
                   __u32 prev_state);
void native_waking(const struct native_thread* wakee);

/* The same for events of the run queue, and the first and later wakeups of a thread. */
void native_queue_switch(bool preempt, const struct native_thread* prev,
                         const struct native_thread* next, __u32 prev_state);
void native_queue_new(const struct native_thread* thread);
void native_queue_wakeup(const struct native_thread* thread);

/* wait_object() of bpf/wait_object.bpf.h, for a thread in a system call. */
__u64 native_wait_object(const struct native_thread* thread);

/* owner_in() of bpf/lock_owner.bpf.h. */
__u32 native_owner_in(const __u32* words, __u64 address, __u32 operation);

/* has_quota() of bpf/throttling.bpf.h, for a thread of a group with a quota, within another group.
 * All ones: no quota. */
bool native_has_quota(__u64 own, __u64 around);

/* Functions of bpf/run_table.bpf.h that are not static. */
int index_of(__u64 tag);
int claim_slot(__u64 tag);
bool take_run(int index, __u64 tag);
int free_slot(int index, __u64 tag);
int change_count(__u64* count, __u64 tag, int by);

#ifdef __cplusplus
}
#endif
