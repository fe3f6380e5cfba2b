/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Pairs the markers of runs in the kernel (A3, A4): a run under its threshold touches a slot and a histogram
 * and never wakes user space.
 *
 * Uprobe programs may be preempted by one another on a CPU (bpf_prog_run_array_uprobe takes no per-CPU
 * recursion counter), so there is no per-CPU scratch memory here and counters are added to atomically.
 */
#include "bpf/listener.h"

#include "bpf/kernel.bpf.h"
#include "bpf/run_report.bpf.h"
#include "bpf/usdt_argument.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LAGTRAP_MAX_EVENTS);
    __type(key, __u32);
    __type(value, struct lagtrap_event_config);
} event_configs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LAGTRAP_MAX_MARKERS);
    __type(key, __u32);
    __type(value, struct lagtrap_marker_config);
} marker_configs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LAGTRAP_MAX_SITES);
    __type(key, __u32);
    __type(value, struct lagtrap_site);
} argument_sites SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, LAGTRAP_MAX_EVENTS);
    __type(key, __u32);
    __type(value, struct lagtrap_event_counters);
} event_counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_BUCKETS);
    __type(key, __u32);
    __type(value, struct lagtrap_bucket);
} open_tags SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_OPEN_SLOTS);
    __type(key, __u32);
    __type(value, struct lagtrap_slot);
} open_slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 64 * 1024);
} notices SEC(".maps"); /* breaches and wakes, for the listener */

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4 * 1024 * 1024);
} recorded_runs SEC(".maps"); /* runs that end during a recording or were reported, for the collector */

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 8192);
    __type(key, __u32);   /* the process */
    __type(value, __u64); /* when it became another program */
} program_starts SEC(".maps");

volatile struct lagtrap_watch watch = {.next_look_ns = LAGTRAP_NEVER_NS};

/* What a marker hit carries, whatever kind of probe it came from. */
struct hit {
    __u64 now_ns;
    __u64 key;
    __u64 begin_ns;
    __u64 stack_pointer;
    __u64 stack; /* id of the call stack; 0: not taken */
    __u32 pid;
    __u32 tid;
};

static __always_inline __u64 mix(__u64 value) {
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdULL; /* finalizer of MurmurHash3 */
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53ULL;
    value ^= value >> 33;
    return value;
}

static __always_inline __u64 tag_of(const struct lagtrap_event_config* config, __u32 event, const struct hit* hit,
                                    __u32 depth) {
    __u64 who = 0;
    if ((config->flags & LAGTRAP_EVENT_KEY_ARGUMENT) && !(config->flags & LAGTRAP_EVENT_KEY_MACHINE)) who = hit->pid;
    return mix(hit->key ^ mix(who << 32 | event << 8 | depth)) | 1;
}

static __always_inline __u32 first_bucket(__u64 tag) { return (tag >> 8) & (LAGTRAP_BUCKETS - 1); }
static __always_inline __u32 second_bucket(__u64 tag) { return (tag >> 40) & (LAGTRAP_BUCKETS - 1); }

static __always_inline struct lagtrap_bucket* bucket_at(__u32 index) { return bpf_map_lookup_elem(&open_tags, &index); }

/* Index of the slot whose tag is `tag` in one bucket, or -1. */
static __always_inline int find_in(struct lagtrap_bucket* bucket, __u32 bucket_index, __u64 tag) {
#pragma unroll
    for (__u32 i = 0; i < LAGTRAP_BUCKET_TAGS; i++)
        if (*(volatile __u64*)&bucket->tags[i] == tag) return bucket_index * LAGTRAP_BUCKET_SLOTS + i;
    return -1;
}

static __always_inline int find_run(__u64 tag) {
    struct lagtrap_bucket* first = bucket_at(first_bucket(tag));
    if (!first) return -1;
    int index = find_in(first, first_bucket(tag), tag);
    if (index >= 0 || *(volatile __u64*)&first->spilled == 0) return index;
    struct lagtrap_bucket* second = bucket_at(second_bucket(tag));
    return second ? find_in(second, second_bucket(tag), tag) : -1;
}

static __always_inline int claim_in(struct lagtrap_bucket* bucket, __u32 bucket_index, __u64 tag) {
#pragma unroll
    for (__u32 i = 0; i < LAGTRAP_BUCKET_TAGS; i++)
        if (*(volatile __u64*)&bucket->tags[i] == 0 && __sync_val_compare_and_swap(&bucket->tags[i], 0, tag) == 0)
            return bucket_index * LAGTRAP_BUCKET_SLOTS + i;
    return -1;
}

static __always_inline int claim_slot(__u64 tag) {
    struct lagtrap_bucket* first = bucket_at(first_bucket(tag));
    if (!first) return -1;
    int index = claim_in(first, first_bucket(tag), tag);
    if (index >= 0) return index;
    struct lagtrap_bucket* second = bucket_at(second_bucket(tag));
    if (!second) return -1;
    __sync_fetch_and_add(&first->spilled, 1); /* before the claim: whoever looks for the run must look there */
    index = claim_in(second, second_bucket(tag), tag);
    if (index < 0) __sync_fetch_and_add(&first->spilled, -1);
    return index;
}

struct task_struct___started {
    struct task_struct___started* group_leader;
    __u64 start_time;
} KERNEL_TYPE;

/* Whether what has the number of a run's thread or process now is another one, or runs another program, than when the run
 * began at `begun_ns`. */
static __noinline bool began_before(__u64 begun_ns, __u32 pid, bool of_process) {
    struct task_struct___started* task = (struct task_struct___started*)bpf_get_current_task();
    __u64 started_ns = of_process ? BPF_CORE_READ(task, group_leader, start_time) : BPF_CORE_READ(task, start_time);
    __u64* program_ns = bpf_map_lookup_elem(&program_starts, &pid);
    return started_ns > begun_ns || (program_ns && *program_ns > begun_ns);
}

SEC("raw_tp/sched_process_exec")
int on_exec(void* ctx) {
    __u32 pid = bpf_get_current_pid_tgid() >> 32;
    __u64 now_ns = bpf_ktime_get_ns();
    bpf_map_update_elem(&program_starts, &pid, &now_ns, BPF_ANY);
    return 0;
}

static __always_inline struct lagtrap_slot* slot_at(int index) {
    __u32 key = index;
    return bpf_map_lookup_elem(&open_slots, &key);
}

static __always_inline void release_slot(int index) {
    __u32 bucket_index = (__u32)index / LAGTRAP_BUCKET_SLOTS;
    struct lagtrap_bucket* bucket = bucket_at(bucket_index);
    __u32 place = index & (LAGTRAP_BUCKET_SLOTS - 1);
    if (!bucket || place >= LAGTRAP_BUCKET_TAGS) return;
    __u64 tag = *(volatile __u64*)&bucket->tags[place];
    *(volatile __u64*)&bucket->tags[place] = 0;
    if (first_bucket(tag) == bucket_index) return;
    struct lagtrap_bucket* first = bucket_at(first_bucket(tag));
    if (first) __sync_fetch_and_add(&first->spilled, -1);
}

/* Numbers do not come again, nor do programs, within this time: short runs are spared the look. */
#define LAGTRAP_SAME_OWNER_NS 100000

/* The outermost open run of the hit's key, or -1. One that another thread or program of the same number left is given up
 * here; runs inside it go when user space sweeps. */
static __always_inline int find_own_run(const struct lagtrap_event_config* config,
                                        struct lagtrap_event_counters* counters, __u32 event, const struct hit* hit) {
    int index = find_run(tag_of(config, event, hit, 0));
    struct lagtrap_slot* slot = index >= 0 ? slot_at(index) : NULL;
    if (!slot) return -1;
    __u64 begun_ns = slot->run.begin_hit_ns;
    if (hit->now_ns < begun_ns + LAGTRAP_SAME_OWNER_NS || (config->flags & LAGTRAP_EVENT_KEY_MACHINE)) return index;
    if (!began_before(begun_ns, hit->pid, config->flags & LAGTRAP_EVENT_KEY_ARGUMENT)) return index;
    __sync_fetch_and_add(&counters->abandoned, 1);
    *(volatile __u64*)&slot->deadline_ns = 0;
    release_slot(index);
    return -1;
}

static __always_inline bool in_scope(const struct lagtrap_event_config* config, const struct hit* hit) {
    if ((config->flags & LAGTRAP_EVENT_SCOPE_PID) && hit->pid != config->scope_pid) return false;
    if ((config->flags & LAGTRAP_EVENT_SCOPE_UID) && (__u32)bpf_get_current_uid_gid() != config->scope_uid)
        return false;
    if (config->flags & LAGTRAP_EVENT_SCOPE_PROGRAM) {
        struct task_struct* task = (struct task_struct*)bpf_get_current_task();
        struct inode* inode = BPF_CORE_READ(task, mm, exe_file, f_inode);
        if (BPF_CORE_READ(inode, i_ino) != config->scope_inode) return false;
        if (BPF_CORE_READ(inode, i_sb, s_dev) != config->scope_device) return false;
    }
    return true;
}

/* Wakes user space if it would look too late. At most once per look: the exchange lowers next_look_ns. */
static __always_inline void ask_for_look(__u64 deadline_ns) {
    __u64 planned_ns = watch.next_look_ns;
    if (!watch.begun_since_look) watch.begun_since_look = 1;
    if (deadline_ns >= planned_ns) return;
    if (__sync_val_compare_and_swap(&watch.next_look_ns, planned_ns, deadline_ns) != planned_ns) return;
    struct lagtrap_record wake = {.size_bytes = sizeof(wake), .type = LAGTRAP_RECORD_WAKE};
    bpf_ringbuf_output(&notices, &wake, sizeof(wake), BPF_RB_FORCE_WAKEUP);
}

static __always_inline void open_run(struct lagtrap_slot* slot, const struct lagtrap_event_config* config, __u32 event,
                                     const struct hit* hit, __u32 depth) {
    struct lagtrap_run* run = &slot->run;
    run->header.type = LAGTRAP_RECORD_RUN;
    run->begin_ns = hit->begin_ns;
    run->begin_hit_ns = hit->now_ns;
    run->end_ns = 0;
    run->key = config->flags & LAGTRAP_EVENT_KEY_ARGUMENT ? hit->key : 0;
    run->event = event;
    run->begin_pid = hit->pid;
    run->begin_tid = hit->tid;
    run->begin_cpu = bpf_get_smp_processor_id();
    run->flags = hit->begin_ns != hit->now_ns ? LAGTRAP_RUN_EARLIER_BEGIN : 0;
    run->depth = depth;
    run->stage_count = 0;
    run->stages_lost = 0;
    slot->stack_pointer = hit->stack_pointer;
    slot->open_depth = 0;
    slot->stage_next = 0;
    slot->reported = 0;
    if (config->flags & LAGTRAP_EVENT_RECORD_RUNS) begin_report(slot, hit->pid, hit->now_ns, hit->stack);
    __u64 deadline_ns = hit->begin_ns + config->threshold_ns;
    *(volatile __u64*)&slot->deadline_ns = deadline_ns;
    if (config->flags & LAGTRAP_EVENT_DEADLINE) ask_for_look(deadline_ns);
}

static __always_inline void count_run(struct lagtrap_event_counters* counters, __u64 elapsed_ns) {
    __u32 bucket = lagtrap_histogram_bucket(elapsed_ns);
    if (bucket < LAGTRAP_HISTOGRAM_BUCKETS) __sync_fetch_and_add(&counters->histogram[bucket], 1);
    if (elapsed_ns > counters->max_ns) counters->max_ns = elapsed_ns;
}

/* Ends the run in `slot`: counted always; told to user space if it is the first delay, or recorded. */
static __always_inline void end_run(struct lagtrap_slot* slot, const struct lagtrap_event_config* config,
                                    struct lagtrap_event_counters* counters, const struct hit* hit) {
    struct lagtrap_run* run = &slot->run;
    __u64 elapsed_ns = hit->now_ns > run->begin_ns ? hit->now_ns - run->begin_ns : 0;
    bool delay = elapsed_ns > config->threshold_ns;
    *(volatile __u64*)&slot->deadline_ns = 0;
    count_run(counters, elapsed_ns);
    if (delay) __sync_fetch_and_add(&counters->delays, 1);
    bool report = delay && watch.breach_wanted && !slot->reported;
    /* A run whose deadline began a capture may end before the recording is on: it belongs to it all the same. */
    bool record = watch.recording || slot->reported;
    bool tell = config->flags & LAGTRAP_EVENT_RECORD_RUNS;
    if (!report && !record && !tell) return;

    __u32 stages = slot->stage_next;
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
    /* Where another thread ended the run, user space knows the first one's name better. */
    run->comm[0] = 0;
    if (run->begin_tid == run->end_tid) bpf_get_current_comm(run->comm, sizeof(run->comm));
    if (delay) run->flags |= LAGTRAP_RUN_DELAY;
    if (slot->reported) run->flags |= LAGTRAP_RUN_REPORTED;
    __u32 size = __builtin_offsetof(struct lagtrap_run, stages) + stages * sizeof(struct lagtrap_stage_hit);
    if (size > sizeof(struct lagtrap_run)) return;
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
    if (tell) report_run(slot, size, hit->now_ns, hit->stack);
}

/* Calls of a function on one thread, innermost last. A call may be left without passing a return (exception, longjmp):
 * the stack pointer tells. Both probes note the one at the function's entry, where the return address lies. */
struct call_chain {
    struct lagtrap_event_config* config;
    struct lagtrap_event_counters* counters;
    const struct hit* hit;
    struct lagtrap_slot* outer;
    __u32 event;
    __u32 ended; /* the call that returns was found */
    __u32 empty; /* the outermost call is gone */
};

/* Takes the innermost call off the chain. */
static __always_inline void drop_innermost(struct call_chain* chain, struct lagtrap_slot* slot, int index,
                                           __u32 depth) {
    *(volatile __u64*)&slot->deadline_ns = 0;
    release_slot(index);
    if (depth == 0)
        chain->empty = 1;
    else
        __sync_fetch_and_add(&chain->outer->open_depth, -1);
}

/* Steps of bpf_loop(): 0 goes on, 1 stops. At a begin: gives up calls whose frames are gone from the stack. */
static long drop_dead_call(__u32 step, struct call_chain* chain) {
    __u32 depth = chain->outer->open_depth;
    if (depth >= LAGTRAP_MAX_DEPTH) return 1;
    int index = find_run(tag_of(chain->config, chain->event, chain->hit, depth));
    struct lagtrap_slot* slot = index >= 0 ? slot_at(index) : NULL;
    if (slot && slot->stack_pointer > chain->hit->stack_pointer) return 1;
    if (!slot) return 1;
    __sync_fetch_and_add(&chain->counters->abandoned, 1);
    drop_innermost(chain, slot, index, depth);
    return chain->empty ? 1 : 0;
}

/* At a return: ends the call that it belongs to, and gives up those inside it. */
static long match_call(__u32 step, struct call_chain* chain) {
    __u32 depth = chain->outer->open_depth;
    if (depth >= LAGTRAP_MAX_DEPTH) return 1;
    int index = find_run(tag_of(chain->config, chain->event, chain->hit, depth));
    struct lagtrap_slot* slot = index >= 0 ? slot_at(index) : NULL;
    if (!slot) return 1;
    if (slot->stack_pointer > chain->hit->stack_pointer) return 1; /* an outer call, alive: this one had no entry */
    if (slot->stack_pointer == chain->hit->stack_pointer) {
        end_run(slot, chain->config, chain->counters, chain->hit);
        chain->ended = 1;
    } else {
        __sync_fetch_and_add(&chain->counters->abandoned, 1);
    }
    drop_innermost(chain, slot, index, depth);
    return chain->ended || chain->empty ? 1 : 0;
}

/* A begin while a run of its key is open: the depth of the new run, or -1 where none is to be opened. */
static __always_inline int depth_inside(struct lagtrap_event_config* config, struct lagtrap_event_counters* counters,
                                        __u32 event, const struct hit* hit, struct lagtrap_slot* outer) {
    if (config->nesting == LAGTRAP_NESTING_RESTART) {
        __sync_fetch_and_add(&counters->unmatched_begins, 1);
        open_run(outer, config, event, hit, 0);
        return -1;
    }
    bool is_call = config->flags & LAGTRAP_EVENT_MATCH_STACK;
    if (is_call) {
        struct call_chain chain = {.config = config, .counters = counters, .hit = hit, .outer = outer, .event = event};
        bpf_loop(LAGTRAP_MAX_DEPTH, drop_dead_call, &chain, 0);
        if (chain.empty) return 0;
    }
    /* A call deeper than the kernel's return probes reach may have no end; other runs do, so they count on. */
    if (is_call && outer->open_depth >= LAGTRAP_MAX_DEPTH - 1) {
        __sync_fetch_and_add(&counters->too_deep, 1);
        return -1;
    }
    __u32 depth = __sync_fetch_and_add(&outer->open_depth, 1) + 1;
    if (config->nesting == LAGTRAP_NESTING_OUTERMOST) return -1;
    if (depth >= LAGTRAP_MAX_DEPTH) {
        __sync_fetch_and_add(&counters->too_deep, 1);
        return -1;
    }
    return depth;
}

static __always_inline int on_begin(struct lagtrap_event_config* config, struct lagtrap_event_counters* counters,
                                    __u32 event, const struct hit* hit) {
    int depth = 0;
    int index = find_own_run(config, counters, event, hit);
    if (index >= 0) {
        struct lagtrap_slot* outer = slot_at(index);
        if (!outer) return 0;
        depth = depth_inside(config, counters, event, hit, outer);
        if (depth < 0) return 0;
    }
    index = claim_slot(tag_of(config, event, hit, depth));
    struct lagtrap_slot* slot = index >= 0 ? slot_at(index) : NULL;
    if (!slot) {
        __sync_fetch_and_add(&counters->lost, 1);
        return 0;
    }
    open_run(slot, config, event, hit, depth);
    return 0;
}

static __always_inline int on_end(struct lagtrap_event_config* config, struct lagtrap_event_counters* counters,
                                  __u32 event, const struct hit* hit) {
    int index = find_own_run(config, counters, event, hit);
    struct lagtrap_slot* slot = index >= 0 ? slot_at(index) : NULL;
    if (!slot) {
        __sync_fetch_and_add(&counters->unmatched_ends, 1);
        return 0;
    }
    if (config->flags & LAGTRAP_EVENT_MATCH_STACK) {
        if (slot->open_depth > 0 || slot->stack_pointer != hit->stack_pointer) {
            struct call_chain chain = {
                .config = config, .counters = counters, .hit = hit, .outer = slot, .event = event};
            bpf_loop(LAGTRAP_MAX_DEPTH, match_call, &chain, 0);
            if (!chain.ended) __sync_fetch_and_add(&counters->unmatched_ends, 1);
            return 0;
        }
    } else if (slot->open_depth > 0) {
        __u32 depth = __sync_fetch_and_add(&slot->open_depth, -1);
        if (config->nesting == LAGTRAP_NESTING_OUTERMOST || depth >= LAGTRAP_MAX_DEPTH) return 0;
        index = find_run(tag_of(config, event, hit, depth));
        slot = index >= 0 ? slot_at(index) : NULL;
        if (!slot) return 0; /* its begin was lost, and counted so */
    }
    end_run(slot, config, counters, hit);
    release_slot(index);
    return 0;
}

static __always_inline int on_stage(const struct lagtrap_event_config* config, struct lagtrap_event_counters* counters,
                                    __u32 event, __u16 stage, const struct hit* hit) {
    int index = find_own_run(config, counters, event, hit);
    struct lagtrap_slot* slot = index >= 0 ? slot_at(index) : NULL;
    if (slot && config->nesting == LAGTRAP_NESTING_EACH && slot->open_depth > 0) {
        index = find_run(tag_of(config, event, hit, slot->open_depth));
        slot = index >= 0 ? slot_at(index) : NULL;
    }
    if (!slot) {
        __sync_fetch_and_add(&counters->unmatched_stages, 1);
        return 0;
    }
    __u32 place = __sync_fetch_and_add(&slot->stage_next, 1);
    if (place >= LAGTRAP_MAX_STAGES) return 0;
    struct lagtrap_stage_hit* stage_hit = &slot->run.stages[place];
    stage_hit->at_ns = hit->now_ns;
    stage_hit->tid = hit->tid;
    stage_hit->stage = stage;
    stage_hit->cpu = bpf_get_smp_processor_id();
    if (config->flags & LAGTRAP_EVENT_RECORD_RUNS) slot->report.stage_stacks[place] = hit->stack;
    return 0;
}

static __always_inline int on_hit(const struct lagtrap_marker_config* marker, struct hit* hit) {
    __u32 event = marker->event;
    struct lagtrap_event_config* config = bpf_map_lookup_elem(&event_configs, &event);
    struct lagtrap_event_counters* counters = bpf_map_lookup_elem(&event_counters, &event);
    if (!config || !counters) return 0;
    counters->hits++; /* what it costs is reckoned from this: a count lost to preemption does not matter */
    __u64 pid_tid = bpf_get_current_pid_tgid();
    hit->pid = pid_tid >> 32;
    hit->tid = (__u32)pid_tid;
    if (!in_scope(config, hit)) return 0;
    if (!(config->flags & LAGTRAP_EVENT_KEY_ARGUMENT)) hit->key = hit->tid;
    if (walk_scratch_count != 0 && (config->flags & LAGTRAP_EVENT_STACKS)) {
        hit->stack = take_marker_stack(event, hit->now_ns);
        counters->stack_ns += bpf_ktime_get_ns() - hit->now_ns;
    }
    if (marker->role == LAGTRAP_ROLE_BEGIN) {
        /* A begin that claims to lie in the future, or an hour back, is not believed. */
        __u64 claimed_ns = hit->begin_ns;
        bool credible = claimed_ns != 0 && claimed_ns <= hit->now_ns && hit->now_ns - claimed_ns < 3600000000000ULL;
        hit->begin_ns = credible ? claimed_ns : hit->now_ns;
        return on_begin(config, counters, event, hit);
    }
    if (marker->role == LAGTRAP_ROLE_END) return on_end(config, counters, event, hit);
    return on_stage(config, counters, event, marker->stage, hit);
}

/* A USDT marker of which no argument is wanted; the hottest path. Where returns are mitigated (SRSO, retpolines) each
 * helper costs 6 ns and the clock 31 ns, so there are three of them: clock, cookie, thread. */
SEC("uprobe")
int on_site(struct pt_regs* ctx) {
    struct hit hit = {.now_ns = bpf_ktime_get_ns()};
    __u32 marker_id = bpf_get_attach_cookie(ctx);
    struct lagtrap_marker_config* marker = bpf_map_lookup_elem(&marker_configs, &marker_id);
    return marker ? on_hit(marker, &hit) : 0;
}

SEC("uprobe")
int on_usdt(struct pt_regs* ctx) {
    struct hit hit = {.now_ns = bpf_ktime_get_ns()};
    __u64 cookie = bpf_get_attach_cookie(ctx);
    __u32 marker_id = cookie;
    __u32 site_id = cookie >> LAGTRAP_COOKIE_SITE_SHIFT;
    struct lagtrap_marker_config* marker = bpf_map_lookup_elem(&marker_configs, &marker_id);
    struct lagtrap_site* site = bpf_map_lookup_elem(&argument_sites, &site_id);
    if (!marker || !site) return 0;
    if (site->key.place) hit.key = usdt_argument(ctx, &site->key);
    if (site->begin_time.place) hit.begin_ns = usdt_argument(ctx, &site->begin_time);
    return on_hit(marker, &hit);
}

/* Registers of the first six parameters (System V ABI), by their place in struct pt_regs: an offset that is not
 * constant may only be read through a helper. */
static __always_inline __u64 parameter(struct pt_regs* ctx, __u16 index) {
    __u64 value = 0;
    __u32 offset;
    switch (index) {
        case 0: offset = __builtin_offsetof(struct pt_regs, rdi); break;
        case 1: offset = __builtin_offsetof(struct pt_regs, rsi); break;
        case 2: offset = __builtin_offsetof(struct pt_regs, rdx); break;
        case 3: offset = __builtin_offsetof(struct pt_regs, rcx); break;
        case 4: offset = __builtin_offsetof(struct pt_regs, r8); break;
        case 5: offset = __builtin_offsetof(struct pt_regs, r9); break;
        default: return 0;
    }
    bpf_probe_read_kernel(&value, sizeof(value), (void*)ctx + offset);
    return value;
}

static __always_inline int on_function(struct pt_regs* ctx, bool entry) {
    /* A return probe of the kernel fires when the return address has been taken off the stack. */
    __u64 stack_pointer = entry ? PT_REGS_SP(ctx) : PT_REGS_SP(ctx) - sizeof(__u64);
    struct hit hit = {.now_ns = bpf_ktime_get_ns(), .stack_pointer = stack_pointer};
    __u32 marker_id = bpf_get_attach_cookie(ctx);
    struct lagtrap_marker_config* marker = bpf_map_lookup_elem(&marker_configs, &marker_id);
    if (!marker) return 0;
    if (entry) {
        hit.key = parameter(ctx, marker->key_argument);
        hit.begin_ns = parameter(ctx, marker->begin_time_argument);
    } else if (marker->key_argument != LAGTRAP_NO_ARGUMENT) {
        hit.key = PT_REGS_RC(ctx);
    }
    return on_hit(marker, &hit);
}

/* Loaded for uprobe_multi links where the kernel has them (6.6), else for perf-event probes: the daemon sets
 * the attach type before loading. */
SEC("uprobe") /* entries, and return instructions */
int on_entry(struct pt_regs* ctx) { return on_function(ctx, true); }

SEC("uretprobe")
int on_return(struct pt_regs* ctx) { return on_function(ctx, false); }

static __always_inline __u64 field(const void* record, __u16 offset, __u16 bytes) {
    __u64 value = 0;
    const void* from = record + offset;
    if (offset == LAGTRAP_NO_ARGUMENT) return 0;
    if (bytes == 8) bpf_probe_read_kernel(&value, 8, from);
    if (bytes == 4) bpf_probe_read_kernel(&value, 4, from);
    if (bytes == 2) bpf_probe_read_kernel(&value, 2, from);
    if (bytes == 1) bpf_probe_read_kernel(&value, 1, from);
    return value;
}

SEC("tp")
int on_tracepoint(void* ctx) {
    struct hit hit = {.now_ns = bpf_ktime_get_ns()};
    __u32 marker_id = bpf_get_attach_cookie(ctx);
    struct lagtrap_marker_config* marker = bpf_map_lookup_elem(&marker_configs, &marker_id);
    if (!marker) return 0;
    hit.key = field(ctx, marker->key_argument, marker->key_bytes);
    hit.begin_ns = field(ctx, marker->begin_time_argument, marker->begin_time_bytes);
    return on_hit(marker, &hit);
}
