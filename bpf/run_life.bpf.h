/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Opening and ending one run: what a marker hit changes in its slot, counters and reports.
 */
#ifndef LAGTRAP_BPF_RUN_LIFE_BPF_H
#define LAGTRAP_BPF_RUN_LIFE_BPF_H

#include "bpf/event_monitor.h"
#include "bpf/goroutine.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/run_report.bpf.h"
#include "bpf/run_table.bpf.h"
#include "bpf/run_times.bpf.h"
#include "bpf/trace_text.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LAGTRAP_MAX_EVENTS);
    __type(key, __u32);
    __type(value, struct lagtrap_event_config);
} event_configs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 64 * 1024);
} notices SEC(".maps"); /* breaches and wakeups, for the event monitor */

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 8192);
    __type(key, __u32);   /* the process */
    __type(value, __u64); /* time of its last exec */
} program_starts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LAGTRAP_LIMITED_PARTIES);
    __type(key, __u32); /* the user */
    __type(value, __u32);
} parties_without_recordings SEC(".maps"); /* users that reached their limit of captures */

/* A marker hit, whatever kind of probe it came from. Small, because it is on the stack, where older
 * kernels have hardly room for the walk of a user stack. */
struct hit {
    __u64 now_ns;
    __u64 key;
    __u64 begin_ns;
    __u64 stack_pointer;
    __u64 site;
    __u64 stack;                /* id of the call stack; 0: not taken */
    __u64 trace;                /* address of a trace id's text; 0: none */
    struct goroutine goroutine; /* all 0 if unknown, or not a Go function */
    __u16 goid_offset;
    __u16 go_frame_offset;
    __u32 pid;
    __u32 tid;
    __u32 party;         /* only for begins */
    bool by_frame;       /* the stack pointer is the key */
    bool of_others_too;  /* an end that may belong to a call which did not begin at the marker's
                            function */
    __u8 meaning;        /* for ends: enum lagtrap_end_meaning */
    __u8 run_flags;      /* of enum lagtrap_run_flags: those that follow from the key */
    bool waited_for_cpu; /* the run is a wait for a CPU, by a thread other than the current one */
};

/* Otherwise the key is a thread, which is unique among processes. */
#define KEYS_OF_PROCESS (LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_KEY_GOROUTINE)

static __always_inline bool keyed_in_process(const struct lagtrap_event_config* config,
                                             const struct hit* hit) {
    return hit->by_frame || (config->flags & KEYS_OF_PROCESS);
}

static __always_inline __u64 tag_of(const struct lagtrap_event_config* config, __u32 event,
                                    const struct hit* hit, __u32 depth) {
    __u64 who = 0;
    if (keyed_in_process(config, hit) && !(config->flags & LAGTRAP_EVENT_KEY_MACHINE))
        who = hit->pid;
    return lagtrap_run_tag(hit->key, who, event, depth);
}

struct task_struct___started {
    struct task_struct___started* group_leader;
    __u64 start_time;
} KERNEL_TYPE;

/* Whether the thread or process with the run's number started, or called exec, after the run
 * began at `begun_ns`. */
static __noinline bool began_before(__u64 begun_ns, __u32 pid, bool of_process) {
    struct task_struct___started* task = (struct task_struct___started*)bpf_get_current_task();
    __u64 started_ns = of_process ? BPF_CORE_READ(task, group_leader, start_time)
                                  : BPF_CORE_READ(task, start_time);
    __u64* program_ns = bpf_map_lookup_elem(&program_starts, &pid);
    return started_ns > begun_ns || (program_ns && *program_ns > begun_ns);
}

/* Counts a run whose end was not seen: its thread began another in its place. */
static __always_inline void count_unended(struct lagtrap_event_counters* counters,
                                          const struct lagtrap_slot* slot, const struct hit* hit) {
    __sync_fetch_and_add(&counters->markers[LAGTRAP_PLACE_BEGIN].unmatched, 1);
    if (slot->deadline_ns != 0 && slot->deadline_ns < hit->now_ns)
        __sync_fetch_and_add(&counters->unended_late, 1);
    if (slot->reported) __sync_fetch_and_add(&counters->withdrawn, 1);
}

/* Within this time, numbers are not reused and exec does not happen, so short runs skip the
 * check. */
#define LAGTRAP_SAME_OWNER_NS 100000

/* The outermost open run with the hit's key. Drops a run left by another thread or program of
 * the same number; user space later sweeps runs inside it. */
static __always_inline struct found find_own_run(const struct lagtrap_event_config* config,
                                                 struct lagtrap_event_counters* counters,
                                                 __u32 event, const struct hit* hit) {
    struct found run = find_run(tag_of(config, event, hit, 0));
    if (!run.slot) return run;
    __u64 begun_ns = run.slot->run.begin_hit_ns;
    if (hit->now_ns < begun_ns + LAGTRAP_SAME_OWNER_NS ||
        (config->flags & LAGTRAP_EVENT_KEY_MACHINE))
        return run;
    if (!began_before(begun_ns, hit->pid, keyed_in_process(config, hit))) return run;
    __sync_fetch_and_add(&counters->abandoned, 1);
    give_up(&run);
    run.slot = NULL;
    return run;
}

/* Wakes user space if its next check would be too late. At most once per check, because the
 * exchange lowers next_look_ns. */
static __always_inline void ask_for_look(__u64 wanted_ns) {
    __u64 planned_ns = watch.next_look_ns;
    if (!watch.begun_since_look) watch.begun_since_look = 1;
    if (wanted_ns >= planned_ns) return;
    if (__sync_val_compare_and_swap(&watch.next_look_ns, planned_ns, wanted_ns) != planned_ns)
        return;
    struct lagtrap_record wake = {.size_bytes = sizeof(wake), .type = LAGTRAP_RECORD_WAKE};
    bpf_ringbuf_output(&notices, &wake, sizeof(wake), BPF_RB_FORCE_WAKEUP);
}

/* 0 if it cannot be read. A function, because fill_slot() has no stack to spare; on hardened
 * kernels, reading directly into a map takes a third longer. */
static __noinline __u64 user_word_at(__u64 address) {
    __u64 word = 0;
    bpf_probe_read_user(&word, sizeof(word), (void*)address);
    return word;
}

/* The key as reported to user space: 0 for threads, frames, and goroutines without a number. */
static __always_inline __u64 key_of_run(const struct lagtrap_event_config* config,
                                        const struct hit* hit) {
    bool is_reported =
        (config->flags & LAGTRAP_EVENT_KEY_ARGUMENT) || (hit->run_flags & LAGTRAP_RUN_OF_GOROUTINE);
    return is_reported ? hit->key : 0;
}

/* Global, like end_run(), so that the verifier checks it once rather than on every path. Returns
 * 0. */
__noinline int fill_slot(struct lagtrap_slot* slot, __u64 tag,
                         const struct lagtrap_event_config* config, const struct hit* hit,
                         __u64 event_and_depth) {
    if (!slot || !config || !hit) return 0;
    __u32 event = event_and_depth, depth = event_and_depth >> 32;
    struct lagtrap_run* run = &slot->run;
    *(volatile __u64*)&slot->deadline_ns = 0; /* the slot may still hold an open run's */
    run->header.type = LAGTRAP_RECORD_RUN;
    run->begin_ns = hit->begin_ns;
    run->begin_hit_ns = hit->now_ns;
    run->end_ns = 0;
    run->key = key_of_run(config, hit);
    run->event = event;
    run->begin_pid = hit->pid;
    run->begin_tid = hit->tid;
    run->begin_party = hit->party;
    run->begin_cpu = bpf_get_smp_processor_id();
    run->flags = hit->run_flags | (hit->begin_ns != hit->now_ns ? LAGTRAP_RUN_EARLIER_BEGIN : 0);
    if (config->flags & LAGTRAP_EVENT_WITHOUT_STAGES) run->flags |= LAGTRAP_RUN_WITHOUT_STAGES;
    run->depth = depth;
    run->stage_count = 0;
    run->stages_lost = 0;
    slot->stack_pointer = hit->stack_pointer;
    slot->return_address = 0;
    slot->by_frame = hit->by_frame;
    /* Only if someone will check the run, and not for goroutines, whose stacks move. With
     * by_frame always: a call left without returning stays open until another call has its
     * frame. */
    bool looked_at = hit->by_frame || config->look_after_ns != LAGTRAP_NEVER_NS;
    if ((config->flags & LAGTRAP_EVENT_MATCH_STACK) && looked_at && !hit->goroutine.address)
        slot->return_address = user_word_at(hit->stack_pointer);
    slot->site = hit->site;
    *(volatile __u64*)&slot->open_depth = owned_count(tag);
    *(volatile __u64*)&slot->stage_next = owned_count(tag);
    slot->reported = 0;
    slot->doubtful = 0;
    slot->goroutine = hit->goroutine.address;
    slot->goid_offset = hit->goid_offset;
    slot->go_frame_offset = hit->go_frame_offset;
    if (config->flags & LAGTRAP_EVENT_RECORD_RUNS)
        begin_report(slot, hit->pid, hit->now_ns, hit->stack);
    if (config->flags & LAGTRAP_EVENT_TRACE_TEXT) read_trace_text(slot, hit->trace);
    slot->times_generation = 0;
    bool own_thread = !(hit->run_flags & (LAGTRAP_RUN_OF_GOROUTINE | LAGTRAP_RUN_IN_GO));
    if ((config->flags & LAGTRAP_EVENT_TIMES) && own_thread)
        begin_times(slot, hit->tid, hit->now_ns,
                    config->flags & KEYS_OF_PROCESS ? TIMES_BY_VALUE : 0);
    *(volatile __u64*)&slot->deadline_ns =
        (hit->begin_ns + config->threshold_ns) & ~LAGTRAP_DEADLINE_REPORTED;
    return 0;
}

static __always_inline void open_run(const struct found* place,
                                     const struct lagtrap_event_config* config, __u32 event,
                                     const struct hit* hit, __u32 depth) {
    fill_slot(place->slot, place->tag, config, hit, event | (__u64)depth << 32);
    if (config->look_after_ns == LAGTRAP_NEVER_NS) return;
    want_look_at(place->index, hit->begin_ns + config->look_after_ns);
    ask_for_look(hit->begin_ns + config->look_after_ns);
}

/* Begins a run in the slot of a taken run. */
static __always_inline void open_again(const struct found* place,
                                       const struct lagtrap_event_config* config, __u32 event,
                                       const struct hit* hit) {
    open_run(place, config, event, hit, 0);
    put_back(place->index, place->tag);
}

static __always_inline void count_run(struct lagtrap_event_counters* counters, __u64 elapsed_ns) {
    __u32 bucket = lagtrap_histogram_bucket(elapsed_ns);
    if (bucket < LAGTRAP_HISTOGRAM_BUCKETS) __sync_fetch_and_add(&counters->histogram[bucket], 1);
    if (elapsed_ns > counters->max_ns) counters->max_ns = elapsed_ns;
}

/* Not in the histogram: a quick error does not make an operation fast. */
static __always_inline void count_ended(struct lagtrap_event_counters* counters,
                                        const struct hit* hit, __u64 elapsed_ns) {
    if (hit->meaning == LAGTRAP_END_FAILED)
        __sync_fetch_and_add(&counters->failed, 1);
    else if (hit->meaning == LAGTRAP_END_CANCELLED)
        __sync_fetch_and_add(&counters->cancelled, 1);
    else
        count_run(counters, elapsed_ns);
}

/* Whether a delay of this party may trigger a recording. */
static __noinline bool may_record(struct lagtrap_event_counters* counters, __u32 party) {
    if (!counters || !bpf_map_lookup_elem(&parties_without_recordings, &party)) return true;
    __sync_fetch_and_add(&counters->unrecorded, 1);
    return false;
}

/* Ends the run in `slot`. Always counts it; reports it to user space if it is the first delay,
 * or if runs are recorded. Returns 0. */
__noinline int end_run(struct lagtrap_slot* slot, const struct lagtrap_event_config* config,
                       struct lagtrap_event_counters* counters, const struct hit* hit) {
    if (!slot || !config || !counters || !hit) return 0;
    struct lagtrap_run* run = &slot->run;
    __u64 elapsed_ns = hit->now_ns > run->begin_ns ? hit->now_ns - run->begin_ns : 0;
    bool delay = elapsed_ns > config->threshold_ns;
    bool reported = __sync_lock_test_and_set(&slot->deadline_ns, 0) & LAGTRAP_DEADLINE_REPORTED;
    count_ended(counters, hit, elapsed_ns);
    if (delay) __sync_fetch_and_add(&counters->delays, 1);
    if (delay && reported) __sync_fetch_and_add(&counters->reported_delays, 1);
    bool report = delay && watch.breach_wanted && !reported &&
                  !(config->flags & LAGTRAP_EVENT_UNRECORDED) &&
                  may_record(counters, run->begin_party);
    /* A run whose deadline triggered a capture may end before the recording starts; it belongs
     * to the recording anyway. */
    bool record = watch.recording || reported;
    bool tell = config->flags & LAGTRAP_EVENT_RECORD_RUNS;
    if (slot->times_generation) {
        __u32 how = config->flags & KEYS_OF_PROCESS ? TIMES_BY_VALUE : 0;
        if (delay || report || reported || tell) how |= TIMES_REPORTED;
        end_times(slot, counters, hit->tid, hit->now_ns, how);
        /* The recording may start after this end. */
        if (report || reported) report_so_far(slot, hit->tid, hit->now_ns, how);
    }
    if (delay && hit->waited_for_cpu)
        __sync_fetch_and_add(&counters->delays_mostly[LAGTRAP_DELAY_RUNNABLE], 1);
    if (delay && !hit->waited_for_cpu) count_delay(slot, counters);
    if (!report && !record && !tell) return 0;
    if ((config->flags & LAGTRAP_EVENT_TRACE_TEXT) && delay && (report || record) &&
        report_trace_text(slot, hit->now_ns))
        __sync_fetch_and_add(&counters->texts_lost, 1);

    __u32 stages = slot->stage_next;
    if (config->flags & LAGTRAP_EVENT_WITHOUT_STAGES) run->flags |= LAGTRAP_RUN_WITHOUT_STAGES;
    if (run->flags & LAGTRAP_RUN_WITHOUT_STAGES) stages = 0;
    run->stages_lost = stages > LAGTRAP_MAX_STAGES
                           ? (stages - LAGTRAP_MAX_STAGES > 255 ? 255 : stages - LAGTRAP_MAX_STAGES)
                           : 0;
    if (stages > LAGTRAP_MAX_STAGES) stages = LAGTRAP_MAX_STAGES;
    run->stage_count = stages;
    run->header.at_ns = hit->now_ns;
    run->header.cpu = bpf_get_smp_processor_id();
    run->end_ns = hit->now_ns;
    run->end_pid = hit->pid;
    run->end_tid = hit->tid;
    run->end_cpu = run->header.cpu;
    run->flags |= hit->run_flags;
    /* If another thread ended the run, user space finds the first one's name. */
    run->comm[0] = 0;
    if (run->begin_tid == run->end_tid && !hit->waited_for_cpu)
        bpf_get_current_comm(run->comm, sizeof(run->comm));
    if (delay) run->flags |= LAGTRAP_RUN_DELAY;
    if (reported) run->flags |= LAGTRAP_RUN_REPORTED;
    __u32 size =
        __builtin_offsetof(struct lagtrap_run, stages) + stages * sizeof(struct lagtrap_stage_hit);
    if (size > sizeof(struct lagtrap_run)) return 0;
    run->header.size_bytes = size;
    if (report && __sync_val_compare_and_swap(&watch.breach_wanted, 1, 0) == 1) {
        run->header.type = LAGTRAP_RECORD_BREACH;
        bpf_ringbuf_output(&notices, run, size, BPF_RB_FORCE_WAKEUP);
    }
    if (record) {
        run->header.type = LAGTRAP_RECORD_RUN;
        if (bpf_ringbuf_output(&recorded_runs, run, size, BPF_RB_NO_WAKEUP))
            __sync_fetch_and_add(&counters->records_lost, 1);
    }
    if (tell) {
        slot->report.meaning = hit->meaning;
        report_run(slot, size, hit->now_ns, hit->stack);
    }
    return 0;
}

#endif
