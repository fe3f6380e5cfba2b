/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * For events with record="runs": reports each run that ends to user space, limited per second. A
 * reported run says how many runs it stands for. Also walks the stack at a marker if the
 * settings want it.
 */
#ifndef LAGTRAP_BPF_RUN_REPORT_BPF_H
#define LAGTRAP_BPF_RUN_REPORT_BPF_H

#include "bpf/event_monitor.h"
#include "bpf/kernel.bpf.h"
#include "bpf/stack_id.h"
#include "bpf/user_stack.bpf.h"

/* The daemon makes these as small as possible if no event needs them. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4 * 1024 * 1024);
} reported_runs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_MAX_EVENTS);
    __type(key, __u32);
    __type(value, struct lagtrap_run_quota);
} run_quotas SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, __u32);   /* the process */
    __type(value, __u64); /* its identity in reports */
} reported_processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, __u64);   /* the stack's id */
    __type(value, __u32); /* lagtrap_run_quota.generation at that time */
} reported_stacks SEC(".maps");

#pragma clang diagnostic push
#pragma clang diagnostic ignored \
    "-Wgnu-variable-sized-type-not-at-end" /* these are the record's frames[] */
struct walk_scratch {
    __u64 taken;
    struct lagtrap_stack record;
    __u64 frames[LAGTRAP_MAX_FRAMES];
    struct user_walk walk;
};
#pragma clang diagnostic pop

/* Uprobe programs can preempt each other, so each walk claims a scratch of its own. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 4);
    __type(key, __u32);
    __type(value, struct walk_scratch);
} walk_scratches SEC(".maps");
#define SCRATCHES_OF_CPU 4

const volatile __u32 walk_scratch_count =
    0; /* 0: no event wants stacks, and the verifier removes the walk */

static __always_inline struct walk_scratch* take_walk_scratch(void) {
    __u32 first = bpf_get_smp_processor_id() * SCRATCHES_OF_CPU;
    for (__u32 i = 0; i < SCRATCHES_OF_CPU; i++) {
        __u32 index = (first + i) % walk_scratch_count;
        struct walk_scratch* scratch = bpf_map_lookup_elem(&walk_scratches, &index);
        if (scratch && __sync_val_compare_and_swap(&scratch->taken, 0, 1) == 0) return scratch;
    }
    return NULL;
}

struct task_struct___leader {
    struct task_struct___leader* group_leader;
    __u64 start_boottime;
    char comm[16];
} KERNEL_TYPE;

/* Returns the identity of the process and its program in reports. Reports the process at its
 * first run, so that user space can inspect it while it exists. */
static __noinline __u64 report_process(__u32 pid, __u64 now_ns) {
    struct task_struct* task = (struct task_struct*)bpf_get_current_task();
    struct task_struct___leader* leader =
        BPF_CORE_READ((struct task_struct___leader*)task, group_leader);
    struct lagtrap_process_report report = {
        .header = {.type = LAGTRAP_REPORT_PROCESS, .size_bytes = sizeof(report)}};
    report.started_ns = BPF_CORE_READ(leader, start_boottime);
    struct inode* program = BPF_CORE_READ(task, mm, exe_file, f_inode);
    report.program_inode = BPF_CORE_READ(program, i_ino);
    report.process =
        ((report.started_ns ^ report.program_inode << 40 ^ pid) * 0x9e3779b97f4a7c15ULL) | 1;
    __u64* reported = bpf_map_lookup_elem(&reported_processes, &pid);
    if (reported && *reported == report.process) return report.process;
    report.header.cpu = bpf_get_smp_processor_id();
    report.header.at_ns = now_ns;
    report.pid = pid;
    report.uid = bpf_get_current_uid_gid();
    report.program_device = BPF_CORE_READ(program, i_sb, s_dev);
    BPF_CORE_READ_STR_INTO(&report.comm, leader, comm);
    if (bpf_ringbuf_output(&reported_runs, &report, sizeof(report), 0) == 0)
        bpf_map_update_elem(&reported_processes, &pid, &report.process, BPF_ANY);
    return report.process;
}

/* Sends the stack in `scratch` unless user space has it. Returns the stack's id, or 0 if it is
 * empty or was lost. */
static __always_inline __u64 report_stack(struct walk_scratch* scratch,
                                          struct lagtrap_run_quota* quota, __u64 now_ns) {
    __u32 frame_count = scratch->walk.frame_count;
    if (frame_count == 0 || frame_count > LAGTRAP_MAX_FRAMES) return 0;
    __u32 pid = bpf_get_current_pid_tgid() >> 32;
    __u64 id = lagtrap_stack_id(pid, scratch->frames, frame_count);
    __u32 generation = quota->generation;
    __u32* reported = bpf_map_lookup_elem(&reported_stacks, &id);
    if (reported && *reported == generation) return id;
    __u64 size = sizeof(struct lagtrap_stack) + frame_count * sizeof(__u64);
    barrier_var(size);
    if (size > sizeof(struct lagtrap_stack) + sizeof(scratch->frames)) return 0;
    scratch->record.header.size_bytes = size;
    scratch->record.header.type = LAGTRAP_RECORD_STACK;
    scratch->record.header.cpu = bpf_get_smp_processor_id();
    scratch->record.header.at_ns = now_ns;
    scratch->record.stack_id = id;
    scratch->record.pid = pid;
    scratch->record.frame_count = frame_count;
    scratch->record.kind = LAGTRAP_STACK_USER;
    scratch->record.end = scratch->walk.end;
    report_process(pid, now_ns); /* before its stack, whose modules take user space long to read */
    if (bpf_ringbuf_output(&reported_runs, &scratch->record, size, 0)) return 0;
    bpf_map_update_elem(&reported_stacks, &id, &generation, BPF_ANY);
    return id;
}

/* Walks the stack at a marker, unless the run would exceed the limit now. */
static __noinline __u64 take_marker_stack(__u32 event, __u64 now_ns) {
    struct lagtrap_run_quota* quota = bpf_map_lookup_elem(&run_quotas, &event);
    if (!quota || walk_scratch_count == 0) return 0;
    if (quota->next_ns > now_ns + LAGTRAP_RUN_BURST_NS) return 0;
    struct walk_scratch* scratch = take_walk_scratch();
    __u64 id = 0;
    if (scratch) {
        walk_current_user_stack(&scratch->walk, scratch->frames, false);
        id = report_stack(scratch, quota, now_ns);
        __sync_fetch_and_add(&scratch->taken, -1);
    }
    if (id == 0) __sync_fetch_and_add(&quota->stacks_lost, 1);
    return id;
}

static __noinline int begin_report(struct lagtrap_slot* slot, __u32 pid, __u64 now_ns,
                                   __u64 stack) {
    if (!slot) return 0;
    slot->report.process = report_process(pid, now_ns);
    slot->report.begin_stack = stack;
    slot->report.uid = bpf_get_current_uid_gid();
    return 0;
}

/* Whether one more run is within the limit: a burst of one second's runs, then one per
 * `interval_ns` (generic cell rate algorithm). After four lost races, the run counts as over the
 * limit. */
static __always_inline bool passes_quota(struct lagtrap_run_quota* quota, __u64 now_ns) {
    __u64 interval_ns = quota->interval_ns;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        __u64 next_ns = *(volatile __u64*)&quota->next_ns;
        __u64 from_ns = next_ns > now_ns ? next_ns : now_ns;
        if (from_ns - now_ns + interval_ns > LAGTRAP_RUN_BURST_NS) return false;
        if (__sync_val_compare_and_swap(&quota->next_ns, next_ns, from_ns + interval_ns) == next_ns)
            return true;
    }
    return false;
}

/* Reports the ended run in `slot`, whose record has `size` bytes, or lets the next reported run
 * stand for it. */
static __noinline int report_run(struct lagtrap_slot* slot, __u32 size, __u64 now_ns, __u64 stack) {
    if (!slot || size > sizeof(struct lagtrap_run)) return 0;
    __u32 event = slot->run.event;
    struct lagtrap_run_quota* quota = bpf_map_lookup_elem(&run_quotas, &event);
    if (!quota) return 0;
    /* A failed run stands only for itself, because it is shown separately from successful ones. */
    bool done = slot->report.meaning == LAGTRAP_END_DONE;
    if (!passes_quota(quota, now_ns)) {
        if (done) __sync_fetch_and_add(&quota->pending, 1);
        __sync_fetch_and_add(&quota->sampled_away, 1);
        return 0;
    }
    struct lagtrap_run_report* report = &slot->report;
    __u32 reported = __builtin_offsetof(struct lagtrap_slot, run) + size;
    report->header.size_bytes = reported;
    report->header.type = LAGTRAP_REPORT_RUN;
    report->header.cpu = bpf_get_smp_processor_id();
    report->header.at_ns = now_ns;
    report->end_stack = stack;
    report->weight = 1;
    if (done) report->weight += __sync_lock_test_and_set(&quota->pending, 0);
    if (bpf_ringbuf_output(&reported_runs, slot, reported, 0)) {
        if (done) __sync_fetch_and_add(&quota->pending, report->weight);
        __sync_fetch_and_add(&quota->ring_full, 1);
        return 0;
    }
    __sync_fetch_and_add(&quota->reported, 1);
    return 0;
}

#endif
