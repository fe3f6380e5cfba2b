/* The recorder's programs, compiled for this machine, as tests call them. Pointers without a type
 * are to the types of tests/unit/bpf/kernel_types.hpp. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/event_monitor.h"
#include "bpf/recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Its maps, with the names used there. */
struct recorder_maps {
    void *records, *capture_counters, *history_turns, *timed_sets, *thread_times, *last_switches,
        *disk_requests, *refused_locks, *written_files, *ended_writers, *unwind_processes,
        *namespaced_threads, *stack_copies, *copied_shares, *context_places, *python_processes;
};
extern const struct recorder_maps recorder_maps;

extern volatile struct lagtrap_recording recording;
extern volatile struct lagtrap_copying copying;
extern volatile bool quotas_seen;
extern volatile bool preempt_count_is_wrong;
extern volatile __u32 files_written_in;
extern volatile __u32 ends_wanted_in;
extern volatile __u64 open_files_until_ns;
extern volatile __u32 contexts_published;
extern volatile __u32 python_runs;

/* Clears all maps, and resets the programs' variables to their values at load time. */
void native_load_programs(void);
/* A constant that user space sets before loading: where a CPU's preempt count is after its run
 * queue, in bytes; 0: unknown. */
void native_set_preempt_count_place(__s64 bytes);

/* The thread on the CPU, and the registers with which each thread left user space. */
void native_set_task(void* task);
void native_set_registers(void* registers);
/* Areas of its memory; NULL: none. */
void native_set_areas(void* one, void* other);

int on_switch(bool preempt, void* prev, void* next, unsigned int prev_state);
int on_waking(void* wakee);
int on_wakeup(void* wakee);
int on_sample(void* context);
int on_tick(void* context);
int on_thread(void* context);
int on_publishing_thread(void* context);
int on_fork(void* parent, void* child);
int on_exec(void* task);
int on_interrupt(int number, void* action);
int on_interrupt_end(void);
int on_softirq(unsigned int kind);
int on_timer(void* timer);
int on_timer_end(void);
int on_wheel_timer(void* timer);
int on_local_packet(void* packet);
int on_packet(void* packet);
int on_packets_end(void);
int on_request_done(void* request);
int on_request_issued(void* request);
int on_request_completed(void* request);
int on_page_fault(unsigned long address);
int on_lock(void* inode, void* lock, int result);
int on_whole_file_lock(void* inode, void* lock, int result);
int on_retransmit(const void* sk);
int on_reset(const void* sk);
int on_socket_state(const void* sk, int old_state, int new_state);
int on_write_done(void* request, int error, unsigned int bytes);
int on_writer_ends(void* task);
int on_open_file(void* context);

/* Functions of the headers. */
bool native_is_throttled(void* task);
bool native_has_quota(void* task);
__u32 native_party_of(void* task);
int native_preempt_count(void);
int native_level_of(int preempt_count);
void* native_sock_of(const void* file);
void native_read_internet_peer(const void* sk, struct lagtrap_peer* peer);
__u8 native_kind_of_peer(const void* sk);
__u64 native_socket_number(const void* sk, __u8 kind);
__u32 native_read_local_path(const void* sk, char* path);
__u32 native_lock_holder(const void* list, __u64 owner);
__u64 native_stack_id(__u32 pid, bool of_kernel, const __u64* frames, __u32 count);

#ifdef __cplusplus
}
#endif
