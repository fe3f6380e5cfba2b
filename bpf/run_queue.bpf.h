/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Events whose runs are waits for a CPU: from when a thread can run until it runs. The
 * scheduler's tracepoints fire in the context of another thread, so scope, key and user are
 * those of the thread concerned.
 *
 * These programs run at each context switch, with interrupts off and the run queue locked. A
 * thread out of scope must cost only a lookup of its control group.
 */
#ifndef LAGTRAP_BPF_RUN_QUEUE_BPF_H
#define LAGTRAP_BPF_RUN_QUEUE_BPF_H

#include "bpf/event_monitor.h"
#include "bpf/kernel.bpf.h"
#include "bpf/run_pairing.bpf.h"

struct task_struct___queued {
    int on_cpu;
    struct css_set* cgroups;
} KERNEL_TYPE;

#ifndef QUEUED /* tests also compile this for other targets than BPF */
#define QUEUED(task) ((struct task_struct___queued*)(task))
#endif

/* The run queue's events, each plus 1; 0 ends the list. */
const volatile __u32 run_queue_events[LAGTRAP_RUN_QUEUE_EVENTS] = {};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LAGTRAP_SCOPED_GROUPS);
    __type(key, struct lagtrap_scoped_group);
    __type(value, __u8);
} scoped_groups SEC(".maps");

static __always_inline bool in_scoped_group(__u64 group, __u32 event) {
    struct lagtrap_scoped_group key = {.group = group, .event = event};
    return bpf_map_lookup_elem(&scoped_groups, &key) != NULL;
}

static __always_inline bool runs_program(struct task_struct* task,
                                         const struct lagtrap_event_config* config) {
    struct inode* inode = BPF_CORE_READ(task, mm, exe_file, f_inode);
    return BPF_CORE_READ(inode, i_ino) == config->scope_inode &&
           BPF_CORE_READ(inode, i_sb, s_dev) == config->scope_device;
}

/* The most generations between a process in scope and one that it has started. */
#define LAGTRAP_SCOPE_GENERATIONS 16

static __always_inline bool is_process_of(struct task_struct* task, __u32 pid,
                                          const struct lagtrap_event_config* config) {
    if (pid == config->scope_pid) return true;
    if (!(config->flags & LAGTRAP_EVENT_SCOPE_DESCENDANTS)) return false;
    for (int i = 0; i < LAGTRAP_SCOPE_GENERATIONS && pid > 1; ++i) {
        task = BPF_CORE_READ(task, real_parent);
        pid = BPF_CORE_READ(task, tgid);
        if (pid == config->scope_pid) return true;
    }
    return false;
}

static __always_inline __u32 user_of(struct task_struct* task) {
    return FOR_POINTERS(task)->real_cred->uid.val;
}

static __always_inline bool waits_in_scope(const struct lagtrap_event_config* config, __u32 event,
                                           struct task_struct* task) {
    if (config->flags & LAGTRAP_EVENT_SCOPE_GROUP) {
        struct task_struct___queued* queued = QUEUED(task);
        if (!in_scoped_group(FOR_POINTERS(queued)->cgroups->dfl_cgrp->kn->id, event)) return false;
    }
    if ((config->flags & LAGTRAP_EVENT_SCOPE_PID) && !is_process_of(task, task->tgid, config))
        return false;
    if ((config->flags & LAGTRAP_EVENT_SCOPE_UID) && user_of(task) != config->scope_uid)
        return false;
    return !(config->flags & LAGTRAP_EVENT_SCOPE_PROGRAM) || runs_program(task, config);
}

static __always_inline struct hit hit_of(struct task_struct* task) {
    struct hit hit = {.now_ns = bpf_ktime_get_ns(),
                      .key = task->pid,
                      .pid = task->tgid,
                      .tid = task->pid,
                      .party = party_of(task),
                      .waited_for_cpu = true};
    hit.begin_ns = hit.now_ns;
    return hit;
}

/* Global, like end_wait(), so that the verifier checks it once. If the thread is already
 * waiting, its wait continues. */
__noinline int begin_wait(struct hit* hit, __u32 event) {
    struct lagtrap_event_config* config = bpf_map_lookup_elem(&event_configs, &event);
    struct lagtrap_event_counters* counters = bpf_map_lookup_elem(&event_counters, &event);
    if (!hit || !config || !counters) return 0;
    __u64 tag = tag_of(config, event, hit, 0);
    if (index_of(tag) >= 0) return 0;
    struct found place = {.tag = tag, .index = claim_slot(tag)};
    if (place.index < 0) place.index = make_room(tag, crowd_of(event, hit->party), hit->now_ns);
    if (place.index >= 0) place.slot = slot_at(place.index);
    if (!place.slot) {
        __sync_fetch_and_add(&counters->lost, 1);
        return 0;
    }
    note_seen(counters, hit->party);
    open_run(&place, config, event, hit, 0);
    return 0;
}

/* For a thread whose wait is in the table. */
__noinline int end_wait(struct hit* hit, __u32 event) {
    struct lagtrap_event_config* config = bpf_map_lookup_elem(&event_configs, &event);
    struct lagtrap_event_counters* counters = bpf_map_lookup_elem(&event_counters, &event);
    if (!hit || !config || !counters) return 0;
    struct found run = find_run(tag_of(config, event, hit, 0));
    if (!run.slot || !take_run(run.index, run.tag)) return 0;
    __u64 waited_ns = hit->now_ns - run.slot->run.begin_ns;
    __sync_fetch_and_add(&counters->timed_ns, waited_ns);
    __sync_fetch_and_add(&counters->runnable_ns, waited_ns);
    end_run(run.slot, config, counters, hit);
    free_slot(run.index, run.tag);
    return 0;
}

static __always_inline void note_wait_cost(struct lagtrap_event_counters* counters, __u32 place,
                                           __u64 since_ns) {
    counters->markers[place].last_ns = since_ns;
    if (watch.recording) return;
    __u32 bucket = lagtrap_histogram_bucket(bpf_ktime_get_ns() - since_ns);
    if (bucket >= LAGTRAP_COST_BUCKETS) bucket = LAGTRAP_COST_BUCKETS - 1;
    __sync_fetch_and_add(&counters->costs[bucket], 1);
}

static __always_inline void wait_of_event(__u32 event, struct task_struct* task, __u32 place) {
    struct lagtrap_event_config* config = bpf_map_lookup_elem(&event_configs, &event);
    struct lagtrap_event_counters* counters = bpf_map_lookup_elem(&event_counters, &event);
    if (!config || !counters || place >= LAGTRAP_PLACES || (config->flags & LAGTRAP_EVENT_OFF))
        return;
    __u64 since_ns =
        counters->markers[place].hits++ % LAGTRAP_COST_EVERY == 0 ? bpf_ktime_get_ns() : 0;
    if (place == LAGTRAP_PLACE_END) {
        if (index_of(lagtrap_run_tag(task->pid, 0, event, 0)) >= 0) {
            struct hit hit = hit_of(task);
            end_wait(&hit, event);
        }
    } else if (waits_in_scope(config, event, task)) {
        struct hit hit = hit_of(task);
        begin_wait(&hit, event);
    } else {
        counters->out_of_scope++;
    }
    if (since_ns != 0) note_wait_cost(counters, place, since_ns);
}

/* For a thread that leaves its CPU: if it seems to wait, its switch to the CPU was not seen. */
static __always_inline void drop_wait(__u32 event, struct task_struct* task) {
    struct lagtrap_event_counters* counters = bpf_map_lookup_elem(&event_counters, &event);
    struct found run = find_run(lagtrap_run_tag(task->pid, 0, event, 0));
    if (!counters || !run.slot) return;
    struct hit hit = {.now_ns = bpf_ktime_get_ns()};
    count_unended(counters, run.slot, &hit);
    give_up(&run);
}

static __noinline int drop_waits_of(struct task_struct* task) {
    if (task->pid == 0) return 0;
#pragma clang loop unroll(disable)
    for (__u32 i = 0; i < LAGTRAP_RUN_QUEUE_EVENTS; i++) {
        __u32 event = run_queue_events[i];
        if (event == 0) break;
        drop_wait(event - 1, task);
    }
    return 0;
}

static __noinline int wait_of_thread(struct task_struct* task, __u32 place) {
    if (task->pid == 0) return 0; /* a CPU's idle thread */
#pragma clang loop unroll(disable)
    for (__u32 i = 0; i < LAGTRAP_RUN_QUEUE_EVENTS; i++) {
        __u32 event = run_queue_events[i];
        if (event == 0) break;
        wait_of_event(event - 1, task, place);
    }
    return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_queue_switch, bool preempt, struct task_struct* prev, struct task_struct* next,
             unsigned int prev_state) {
    drop_waits_of(prev);
    if (wants_cpu(prev, preempt, prev_state)) wait_of_thread(prev, LAGTRAP_PLACE_BEGIN);
    return wait_of_thread(next, LAGTRAP_PLACE_END);
}

/* A thread woken before it has left its CPU continues running. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_queue_wakeup, struct task_struct* task) {
    struct task_struct___queued* queued = QUEUED(task);
    if (bpf_core_field_exists(queued->on_cpu) && queued->on_cpu) return 0;
    return wait_of_thread(task, LAGTRAP_PLACE_BEGIN);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_queue_new, struct task_struct* task) {
    return wait_of_thread(task, LAGTRAP_PLACE_BEGIN);
}

#endif
