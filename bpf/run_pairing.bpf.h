/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Pairs begins, stages and ends: what a marker hit does to the runs with its key.
 */
#ifndef LAGTRAP_BPF_RUN_PAIRING_BPF_H
#define LAGTRAP_BPF_RUN_PAIRING_BPF_H

#include "bpf/goroutine.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/listener.h"
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
} notices SEC(".maps"); /* breaches and wakeups, for the listener */

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
    bool of_others_too;  /* an end that may belong to a call which did not begin at the marker's function */
    __u8 meaning;        /* for ends: enum lagtrap_end_meaning */
    __u8 run_flags;      /* of enum lagtrap_run_flags: those that follow from the key */
    bool waited_for_cpu; /* the run is a wait for a CPU, by a thread other than the current one */
};

/* Otherwise the key is a thread, which is unique among processes. */
#define KEYS_OF_PROCESS (LAGTRAP_EVENT_KEY_ARGUMENT | LAGTRAP_EVENT_KEY_GOROUTINE)

static __always_inline bool keyed_in_process(const struct lagtrap_event_config* config, const struct hit* hit) {
    return hit->by_frame || (config->flags & KEYS_OF_PROCESS);
}

static __always_inline __u64 tag_of(const struct lagtrap_event_config* config, __u32 event, const struct hit* hit,
                                    __u32 depth) {
    __u64 who = 0;
    if (keyed_in_process(config, hit) && !(config->flags & LAGTRAP_EVENT_KEY_MACHINE)) who = hit->pid;
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
    __u64 started_ns = of_process ? BPF_CORE_READ(task, group_leader, start_time) : BPF_CORE_READ(task, start_time);
    __u64* program_ns = bpf_map_lookup_elem(&program_starts, &pid);
    return started_ns > begun_ns || (program_ns && *program_ns > begun_ns);
}

/* Counts a run whose end was not seen: its thread began another in its place. */
static __always_inline void count_unended(struct lagtrap_event_counters* counters, const struct lagtrap_slot* slot,
                                          const struct hit* hit) {
    __sync_fetch_and_add(&counters->markers[LAGTRAP_PLACE_BEGIN].unmatched, 1);
    if (slot->deadline_ns != 0 && slot->deadline_ns < hit->now_ns) __sync_fetch_and_add(&counters->unended_late, 1);
    if (slot->reported) __sync_fetch_and_add(&counters->withdrawn, 1);
}

/* Within this time, numbers are not reused and exec does not happen, so short runs skip the
 * check. */
#define LAGTRAP_SAME_OWNER_NS 100000

/* The outermost open run with the hit's key. Drops a run left by another thread or program of
 * the same number; user space later sweeps runs inside it. */
static __always_inline struct found find_own_run(const struct lagtrap_event_config* config,
                                                 struct lagtrap_event_counters* counters, __u32 event,
                                                 const struct hit* hit) {
    struct found run = find_run(tag_of(config, event, hit, 0));
    if (!run.slot) return run;
    __u64 begun_ns = run.slot->run.begin_hit_ns;
    if (hit->now_ns < begun_ns + LAGTRAP_SAME_OWNER_NS || (config->flags & LAGTRAP_EVENT_KEY_MACHINE)) return run;
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
    if (__sync_val_compare_and_swap(&watch.next_look_ns, planned_ns, wanted_ns) != planned_ns) return;
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
static __always_inline __u64 key_of_run(const struct lagtrap_event_config* config, const struct hit* hit) {
    bool is_reported = (config->flags & LAGTRAP_EVENT_KEY_ARGUMENT) || (hit->run_flags & LAGTRAP_RUN_OF_GOROUTINE);
    return is_reported ? hit->key : 0;
}

/* Global, like end_run(), so that the verifier checks it once rather than on every path. Returns
 * 0. */
__noinline int fill_slot(struct lagtrap_slot* slot, __u64 tag, const struct lagtrap_event_config* config,
                         const struct hit* hit, __u64 event_and_depth) {
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
    if (config->flags & LAGTRAP_EVENT_RECORD_RUNS) begin_report(slot, hit->pid, hit->now_ns, hit->stack);
    if (config->flags & LAGTRAP_EVENT_TRACE_TEXT) read_trace_text(slot, hit->trace);
    slot->times_generation = 0;
    bool own_thread = !(hit->run_flags & (LAGTRAP_RUN_OF_GOROUTINE | LAGTRAP_RUN_IN_GO));
    if ((config->flags & LAGTRAP_EVENT_TIMES) && own_thread)
        begin_times(slot, hit->tid, hit->now_ns, config->flags & KEYS_OF_PROCESS ? TIMES_BY_VALUE : 0);
    *(volatile __u64*)&slot->deadline_ns = (hit->begin_ns + config->threshold_ns) & ~LAGTRAP_DEADLINE_REPORTED;
    return 0;
}

static __always_inline void open_run(const struct found* place, const struct lagtrap_event_config* config, __u32 event,
                                     const struct hit* hit, __u32 depth) {
    fill_slot(place->slot, place->tag, config, hit, event | (__u64)depth << 32);
    if (config->look_after_ns == LAGTRAP_NEVER_NS) return;
    want_look_at(place->index, hit->begin_ns + config->look_after_ns);
    ask_for_look(hit->begin_ns + config->look_after_ns);
}

/* Begins a run in the slot of a taken run. */
static __always_inline void open_again(const struct found* place, const struct lagtrap_event_config* config,
                                       __u32 event, const struct hit* hit) {
    open_run(place, config, event, hit, 0);
    put_back(place->index, place->tag);
}

static __always_inline void count_run(struct lagtrap_event_counters* counters, __u64 elapsed_ns) {
    __u32 bucket = lagtrap_histogram_bucket(elapsed_ns);
    if (bucket < LAGTRAP_HISTOGRAM_BUCKETS) __sync_fetch_and_add(&counters->histogram[bucket], 1);
    if (elapsed_ns > counters->max_ns) counters->max_ns = elapsed_ns;
}

/* Not in the histogram: a quick error does not make an operation fast. */
static __always_inline void count_ended(struct lagtrap_event_counters* counters, const struct hit* hit,
                                        __u64 elapsed_ns) {
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
    bool report = delay && watch.breach_wanted && !reported && !(config->flags & LAGTRAP_EVENT_UNRECORDED) &&
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
    if (delay && hit->waited_for_cpu) __sync_fetch_and_add(&counters->delays_mostly[LAGTRAP_DELAY_RUNNABLE], 1);
    if (delay && !hit->waited_for_cpu) count_delay(slot, counters);
    if (!report && !record && !tell) return 0;
    if ((config->flags & LAGTRAP_EVENT_TRACE_TEXT) && delay && (report || record) &&
        report_trace_text(slot, hit->now_ns))
        __sync_fetch_and_add(&counters->texts_lost, 1);

    __u32 stages = slot->stage_next;
    if (config->flags & LAGTRAP_EVENT_WITHOUT_STAGES) run->flags |= LAGTRAP_RUN_WITHOUT_STAGES;
    if (run->flags & LAGTRAP_RUN_WITHOUT_STAGES) stages = 0;
    run->stages_lost =
        stages > LAGTRAP_MAX_STAGES ? (stages - LAGTRAP_MAX_STAGES > 255 ? 255 : stages - LAGTRAP_MAX_STAGES) : 0;
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
    if (run->begin_tid == run->end_tid && !hit->waited_for_cpu) bpf_get_current_comm(run->comm, sizeof(run->comm));
    if (delay) run->flags |= LAGTRAP_RUN_DELAY;
    if (reported) run->flags |= LAGTRAP_RUN_REPORTED;
    __u32 size = __builtin_offsetof(struct lagtrap_run, stages) + stages * sizeof(struct lagtrap_stage_hit);
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

/* Runs with one key, innermost last. If they belong to one thread of a program, the stack
 * pointer shows how they nest: a run may be left without passing its end (exception, longjmp,
 * early return), and the next one then begins at the same place or further out. For functions,
 * both probes record the stack pointer at the entry, where the return address is. */
struct run_chain {
    struct lagtrap_event_config* config;
    struct lagtrap_event_counters* counters;
    const struct hit* hit;
    struct found* outer;
    __u32 event;
    __u32 ended; /* the end's run was found, or there is none */
    __u32 empty; /* the outermost run is gone */
};

/* The innermost of the runs inside an outermost one; empty if it is too deep for the table. */
static __always_inline struct found find_innermost(const struct lagtrap_event_config* config, __u32 event,
                                                   const struct hit* hit, const struct found* outer) {
    struct found none = {};
    __u32 depth = depth_inside_of(outer->slot);
    return depth < LAGTRAP_MAX_DEPTH ? find_run(tag_of(config, event, hit, depth)) : none;
}

/* Removes the innermost run from the chain. */
static __always_inline void drop_innermost(struct run_chain* chain, const struct found* run, __u32 depth) {
    give_up(run);
    if (depth == 0)
        chain->empty = 1;
    else
        change_count(&chain->outer->slot->open_depth, chain->outer->tag, -1);
}

static __always_inline void count_left_call(struct lagtrap_event_counters* counters) {
    __sync_fetch_and_add(&counters->abandoned, 1);
    __sync_fetch_and_add(&counters->left, 1);
}

static __always_inline void count_left(struct run_chain* chain, const struct lagtrap_slot* slot) {
    if (chain->config->flags & LAGTRAP_EVENT_MATCH_STACK)
        count_left_call(chain->counters);
    else
        count_unended(chain->counters, slot, chain->hit);
}

/* Whether a begin shows that an open run of its thread was left: a call whose frame is gone, or
 * a run that began at the same marker in the same frame, or in a frame further in. */
static __always_inline bool was_left(const struct lagtrap_event_config* config, const struct lagtrap_slot* slot,
                                     const struct hit* hit) {
    if (slot->stack_pointer != hit->stack_pointer) return slot->stack_pointer < hit->stack_pointer;
    return (config->flags & LAGTRAP_EVENT_MATCH_STACK) || slot->site == hit->site;
}

/* Callback of bpf_loop() (0 continues, 1 stops). At a begin: drops runs that were left. */
static long drop_left_run(__u32 step, struct run_chain* chain) {
    __u32 depth = depth_inside_of(chain->outer->slot);
    if (depth >= LAGTRAP_MAX_DEPTH) return 1;
    struct found run = find_run(tag_of(chain->config, chain->event, chain->hit, depth));
    if (!run.slot) return 1;
    if (!was_left(chain->config, run.slot, chain->hit)) {
        /* Two markers in one frame: either one run is inside the other, or the first was left. */
        if (run.slot->stack_pointer == chain->hit->stack_pointer) run.slot->doubtful = 1;
        return 1;
    }
    count_left(chain, run.slot);
    drop_innermost(chain, &run, depth);
    return chain->empty ? 1 : 0;
}

/* At a return: ends the call that it belongs to, and drops those inside it. */
static __always_inline long match_call(struct run_chain* chain, const struct found* run, __u32 depth) {
    if (run->slot->stack_pointer > chain->hit->stack_pointer)
        return 1; /* an outer call, still open: this return's entry was not seen */
    if (run->slot->stack_pointer == chain->hit->stack_pointer) {
        if (take_run(run->index, run->tag)) {
            end_run(run->slot, chain->config, chain->counters, chain->hit);
            free_slot(run->index, run->tag);
        }
        chain->ended = 1;
    } else {
        count_left_call(chain->counters);
    }
    drop_innermost(chain, run, depth);
    return chain->ended || chain->empty ? 1 : 0;
}

static long match_return(__u32 step, struct run_chain* chain) {
    __u32 depth = depth_inside_of(chain->outer->slot);
    if (depth >= LAGTRAP_MAX_DEPTH) return 1;
    struct found run = find_run(tag_of(chain->config, chain->event, chain->hit, depth));
    return run.slot ? match_call(chain, &run, depth) : 1;
}

/* At an end in a frame that is not inside the run around the innermost one: that outer run ends. */
static long drop_unended_run(__u32 step, struct run_chain* chain) {
    __u32 depth = depth_inside_of(chain->outer->slot);
    if (depth == 0 || depth >= LAGTRAP_MAX_DEPTH) return 1;
    struct found run = find_run(tag_of(chain->config, chain->event, chain->hit, depth));
    struct found around = find_run(tag_of(chain->config, chain->event, chain->hit, depth - 1));
    if (!run.slot || !around.slot) return 1;
    if (around.slot->stack_pointer <= run.slot->stack_pointer) return 1;
    if (chain->hit->stack_pointer < around.slot->stack_pointer) return 1;
    count_unended(chain->counters, run.slot, chain->hit);
    drop_innermost(chain, &run, depth);
    return 0;
}

/* A begin with nesting="outermost" while a run with its key is open. Returns as depth_inside(). */
static __always_inline int begin_inside(struct lagtrap_event_config* config, struct lagtrap_event_counters* counters,
                                        __u32 event, const struct hit* hit, struct found* outer) {
    bool is_call = config->flags & LAGTRAP_EVENT_MATCH_STACK;
    bool ordered = config->flags & (LAGTRAP_EVENT_MATCH_STACK | LAGTRAP_EVENT_STACK_ORDER);
    struct lagtrap_slot* slot = outer->slot;
    if (ordered && was_left(config, slot, hit)) {
        struct run_chain chain = {.config = config, .counters = counters, .hit = hit};
        if (!take_run(outer->index, outer->tag)) return 0; /* it has just ended */
        count_left(&chain, slot);
        open_again(outer, config, event, hit);
        return -1;
    }
    if (is_call) return -1;
    if (!ordered || slot->stack_pointer == hit->stack_pointer) slot->doubtful = 1;
    return change_count(&slot->open_depth, outer->tag, 1) < 0 ? 0 : -1;
}

/* A begin while a run with its key is open. Returns the depth of the new run, or -1 if none must
 * be opened. */
static __always_inline int depth_inside(struct lagtrap_event_config* config, struct lagtrap_event_counters* counters,
                                        __u32 event, const struct hit* hit, struct found* outer) {
    if (config->nesting == LAGTRAP_NESTING_RESTART) {
        if (!take_run(outer->index, outer->tag)) return 0; /* it has just ended */
        count_unended(counters, outer->slot, hit);
        open_again(outer, config, event, hit);
        return -1;
    }
    if (config->nesting == LAGTRAP_NESTING_OUTERMOST) return begin_inside(config, counters, event, hit, outer);
    bool is_call = config->flags & LAGTRAP_EVENT_MATCH_STACK;
    if (config->flags & (LAGTRAP_EVENT_MATCH_STACK | LAGTRAP_EVENT_STACK_ORDER)) {
        struct run_chain chain = {.config = config, .counters = counters, .hit = hit, .outer = outer, .event = event};
        bpf_loop(LAGTRAP_MAX_DEPTH, drop_left_run, &chain, 0);
        if (chain.empty) return 0;
    } else {
        /* The same key, and it is unknown whether its earlier run was left. */
        struct found inner = find_innermost(config, event, hit, outer);
        if (inner.slot) inner.slot->doubtful = 1;
    }
    /* A call deeper than the kernel's return probes reach may have no end. Other runs do have
     * one, so keep counting them. */
    if (is_call && depth_inside_of(outer->slot) >= LAGTRAP_MAX_DEPTH - 1) {
        __sync_fetch_and_add(&counters->too_deep, 1);
        return -1;
    }
    int depth = change_count(&outer->slot->open_depth, outer->tag, 1) + 1; /* 0 if the outer run has just ended */
    if (depth >= LAGTRAP_MAX_DEPTH) {
        __sync_fetch_and_add(&counters->too_deep, 1);
        return -1;
    }
    return depth;
}

static __always_inline int on_begin(struct lagtrap_event_config* config, struct lagtrap_event_counters* counters,
                                    __u32 event, const struct hit* hit) {
    int depth = 0;
    struct found outer = find_own_run(config, counters, event, hit);
    if (outer.slot) {
        depth = depth_inside(config, counters, event, hit, &outer);
        if (depth < 0) return 0;
    }
    __u64 tag = tag_of(config, event, hit, depth);
    struct found place = {.tag = tag, .index = claim_slot(tag)};
    if (place.index < 0) place.index = make_room(tag, crowd_of(event, hit->party), hit->now_ns);
    if (place.index >= 0) place.slot = slot_at(place.index);
    if (!place.slot) {
        __sync_fetch_and_add(&counters->lost, 1);
        return 0;
    }
    open_run(&place, config, event, hit, depth);
    return 0;
}

/* Called before the outermost run ends, so that no later begin counts as inside it. False if
 * there already is one, or another end was faster. With a thread as key, begins and ends are
 * sequential. */
static __always_inline bool close_outermost(const struct lagtrap_event_config* config, const struct found* run) {
    __u64 none_inside = owned_count(run->tag);
    if (!(config->flags & KEYS_OF_PROCESS)) return true;
    return __sync_val_compare_and_swap(&run->slot->open_depth, none_inside, 0) == none_inside;
}

static __always_inline void count_unmatched_end(struct lagtrap_event_counters* counters, const struct hit* hit) {
    if (hit->of_others_too) return;
    __sync_fetch_and_add(&counters->markers[LAGTRAP_PLACE_END].unmatched, 1);
}

/* An end while runs are open inside the outermost one. Returns 1 if a run ends, and sets `run`
 * to it. */
static __always_inline int end_inside(struct lagtrap_event_config* config, struct lagtrap_event_counters* counters,
                                      __u32 event, const struct hit* hit, struct found* run) {
    struct found* outer = run;
    bool ordered = config->flags & LAGTRAP_EVENT_STACK_ORDER;
    if (config->nesting == LAGTRAP_NESTING_OUTERMOST) {
        if (ordered && !outer->slot->doubtful && hit->stack_pointer >= outer->slot->stack_pointer) {
            __sync_fetch_and_add(&counters->markers[LAGTRAP_PLACE_BEGIN].unmatched, depth_inside_of(outer->slot));
            return 1;
        }
        return change_count(&outer->slot->open_depth, outer->tag, -1) < 0;
    }
    if (ordered) {
        struct run_chain chain = {.config = config, .counters = counters, .hit = hit, .outer = outer, .event = event};
        bpf_loop(LAGTRAP_MAX_DEPTH, drop_unended_run, &chain, 0);
        if (depth_inside_of(outer->slot) == 0) return 1;
    }
    int depth = change_count(&outer->slot->open_depth, outer->tag, -1);
    if (depth < 0) return 1; /* another end was faster */
    if (depth >= LAGTRAP_MAX_DEPTH) return 0;
    *run = find_run(tag_of(config, event, hit, depth));
    return run->slot != NULL; /* otherwise its begin was lost, and counted as such */
}

static __always_inline int on_end(struct lagtrap_event_config* config, struct lagtrap_event_counters* counters,
                                  __u32 event, const struct hit* hit) {
    struct found run = find_own_run(config, counters, event, hit);
    if (!run.slot) {
        count_unmatched_end(counters, hit);
        return 0;
    }
    if (config->flags & LAGTRAP_EVENT_MATCH_STACK) {
        bool inner = hit->stack_pointer < run.slot->stack_pointer;
        if (inner && config->nesting == LAGTRAP_NESTING_OUTERMOST) return 0;
        if (depth_inside_of(run.slot) > 0 || run.slot->stack_pointer != hit->stack_pointer) {
            struct run_chain chain = {
                .config = config, .counters = counters, .hit = hit, .outer = &run, .event = event};
            bpf_loop(LAGTRAP_MAX_DEPTH, match_return, &chain, 0);
            if (!chain.ended) count_unmatched_end(counters, hit);
            return 0;
        }
    } else if (depth_inside_of(run.slot) > 0 || !close_outermost(config, &run)) {
        __u64 outermost = run.tag;
        if (!end_inside(config, counters, event, hit, &run)) return 0;
        if (run.slot && run.tag == outermost && !close_outermost(config, &run)) run.slot = NULL;
    }
    if (!run.slot || !take_run(run.index, run.tag)) {
        count_unmatched_end(counters, hit);
        return 0;
    }
    end_run(run.slot, config, counters, hit);
    free_slot(run.index, run.tag);
    return 0;
}

static __always_inline int on_stage(const struct lagtrap_event_config* config, struct lagtrap_event_counters* counters,
                                    __u32 event, __u16 stage, const struct hit* hit) {
    struct found run = find_own_run(config, counters, event, hit);
    if (run.slot && config->nesting == LAGTRAP_NESTING_EACH && depth_inside_of(run.slot) > 0)
        run = find_innermost(config, event, hit, &run);
    struct lagtrap_slot* slot = run.slot;
    int place = slot ? change_count(&slot->stage_next, run.tag, 1) : -1;
    if (place < 0) {
        __u32 marker = LAGTRAP_PLACE_STAGE + stage;
        if (marker < LAGTRAP_PLACES) __sync_fetch_and_add(&counters->markers[marker].unmatched, 1);
        return 0;
    }
    if (!slot) return 0;
    if ((config->flags & KEYS_OF_PROCESS) && slot->times_generation) count_hit(slot, hit->tid, hit->now_ns);
    if (place >= LAGTRAP_MAX_STAGES) return 0;
    struct lagtrap_stage_hit* stage_hit = &slot->run.stages[place];
    stage_hit->at_ns = hit->now_ns;
    stage_hit->tid = hit->tid;
    stage_hit->stage = stage;
    stage_hit->cpu = bpf_get_smp_processor_id();
    if (config->flags & LAGTRAP_EVENT_RECORD_RUNS) slot->report.stage_stacks[place] = hit->stack;
    return 0;
}

#endif
