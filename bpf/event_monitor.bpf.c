/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Pairs the markers of runs in the kernel: a run under its threshold touches a slot and a
 * histogram, and never wakes user space.
 *
 * Uprobe programs can preempt each other on a CPU (bpf_prog_run_array_uprobe takes no per-CPU
 * recursion counter), so there is no per-CPU scratch memory, and counters are updated
 * atomically.
 */
#include "bpf/event_monitor.h"

#include "bpf/function_exit.bpf.h"
#include "bpf/goroutine.bpf.h"
#include "bpf/hit_parties.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/run_pairing.bpf.h"
#include "bpf/run_queue.bpf.h"
#include "bpf/usdt_argument.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

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

SEC("raw_tp/sched_process_exec")
int on_exec(void* ctx) {
    __u32 pid = bpf_get_current_pid_tgid() >> 32;
    __u64 now_ns = bpf_ktime_get_ns();
    bpf_map_update_elem(&program_starts, &pid, &now_ns, BPF_ANY);
    return 0;
}

static __always_inline bool in_scope(const struct lagtrap_event_config* config, __u32 event,
                                     const struct hit* hit) {
    if ((config->flags & LAGTRAP_EVENT_SCOPE_PID) &&
        !is_process_of((struct task_struct*)bpf_get_current_task(), hit->pid, config))
        return false;
    if ((config->flags & LAGTRAP_EVENT_SCOPE_UID) &&
        (__u32)bpf_get_current_uid_gid() != config->scope_uid)
        return false;
    if ((config->flags & LAGTRAP_EVENT_SCOPE_PROGRAM) &&
        !runs_program((struct task_struct*)bpf_get_current_task(), config))
        return false;
    return !(config->flags & LAGTRAP_EVENT_SCOPE_GROUP) ||
           in_scoped_group(bpf_get_current_cgroup_id(), event);
}

static __always_inline int pair_hit(const struct lagtrap_marker_config* marker,
                                    struct lagtrap_event_config* config,
                                    struct lagtrap_event_counters* counters, struct hit* hit) {
    __u32 event = marker->event;
    if (marker->role == LAGTRAP_ROLE_BEGIN) {
        /* Ignore a begin time in the future, or an hour or more ago. */
        __u64 claimed_ns = hit->begin_ns;
        bool credible = claimed_ns != 0 && claimed_ns <= hit->now_ns &&
                        hit->now_ns - claimed_ns < 3600000000000ULL;
        hit->begin_ns = credible ? claimed_ns : hit->now_ns;
        hit->party = current_party();
        note_seen(counters, hit->party);
        return on_begin(config, counters, event, hit);
    }
    if (marker->role == LAGTRAP_ROLE_END) {
        /* Errors also occur without a run. */
        hit->meaning = marker->stage;
        if (hit->meaning != LAGTRAP_END_DONE) hit->of_others_too = true;
        return on_end(config, counters, event, hit);
    }
    return on_stage(config, counters, event, marker->stage, hit);
}

static __always_inline __u32 place_of(const struct lagtrap_marker_config* marker) {
    if (marker->role == LAGTRAP_ROLE_STAGE) return LAGTRAP_PLACE_STAGE + marker->stage;
    return marker->role == LAGTRAP_ROLE_BEGIN ? LAGTRAP_PLACE_BEGIN : LAGTRAP_PLACE_END;
}

/* Upper limit for the time of a stack walk; a preempted walk counts as this long. */
#define LAGTRAP_LONG_WALK_NS 50000

static __always_inline __u64 walk_for(struct lagtrap_event_counters* counters, __u32 event,
                                      struct hit* hit) {
    hit->stack = take_marker_stack(event, hit->now_ns);
    __u64 took_ns = bpf_ktime_get_ns() - hit->now_ns;
    counters->stack_ns += took_ns < LAGTRAP_LONG_WALK_NS ? took_ns : LAGTRAP_LONG_WALK_NS;
    return took_ns;
}

static __always_inline void note_cost(struct lagtrap_event_counters* counters, __u64 took_ns) {
    __u32 bucket = lagtrap_histogram_bucket(took_ns);
    if (bucket >= LAGTRAP_COST_BUCKETS) bucket = LAGTRAP_COST_BUCKETS - 1;
    __sync_fetch_and_add(&counters->costs[bucket], 1);
}

/* False if the key is a goroutine that could not be found. Global, so that the verifier checks
 * it once and its result does not double the paths through the rest. `flags` are the event's. */
__noinline bool choose_key(struct hit* hit, __u32 flags) {
    if (!hit) return false;
    bool in_go = hit->goroutine.address && !(hit->goroutine.key & LAGTRAP_KEY_NO_GOROUTINE);
    hit->run_flags = in_go ? LAGTRAP_RUN_IN_GO : 0;
    if (!(flags & KEYS_OF_PROCESS)) {
        hit->key = hit->by_frame ? hit->stack_pointer : hit->tid;
        return true;
    }
    if (!(flags & LAGTRAP_EVENT_KEY_GOROUTINE)) return true;
    hit->key = hit->goroutine.key;
    if (in_go) hit->run_flags |= LAGTRAP_RUN_OF_GOROUTINE;
    return hit->goroutine.address != 0;
}

static __always_inline int on_hit(const struct lagtrap_marker_config* marker, struct hit* hit) {
    __u32 event = marker->event;
    struct lagtrap_event_config* config = bpf_map_lookup_elem(&event_configs, &event);
    struct lagtrap_event_counters* counters = bpf_map_lookup_elem(&event_counters, &event);
    __u32 place = place_of(marker);
    if (!config || !counters || place >= LAGTRAP_PLACES) return 0;
    /* An increment lost to preemption does not matter. */
    __u64 number = counters->markers[place].hits++;
    counters->markers[place].last_ns = hit->now_ns;
    bool off = config->flags & LAGTRAP_EVENT_OFF;
    if (off && (!(config->flags & LAGTRAP_EVENT_COUNTED) || place != LAGTRAP_PLACE_BEGIN)) return 0;
    __u64 pid_tid = bpf_get_current_pid_tgid();
    hit->pid = pid_tid >> 32;
    hit->tid = (__u32)pid_tid;
    bool paired = in_scope(config, event, hit);
    if (!paired) {
        counters->out_of_scope++;
    } else if ((config->flags & LAGTRAP_EVENT_LIMITED) && is_limited(event, hit->pid)) {
        counters->limited++;
        paired = false;
    }
    if (number % LAGTRAP_COST_EVERY == 0) note_party(event, hit->pid, paired);
    if (!paired) return 0;
    if (off) {
        __sync_fetch_and_add(&counters->counted, 1);
        return 0;
    }
    if (!choose_key(hit, config->flags)) {
        __sync_fetch_and_add(&counters->markers[place].unmatched, 1);
        return 0;
    }
    __u64 walked_ns = 0;
    if (walk_scratch_count != 0 && (config->flags & LAGTRAP_EVENT_STACKS))
        walked_ns = walk_for(counters, event, hit);
    pair_hit(marker, config, counters, hit);
    /* During a recording, runs that end are also written, which is not the event's cost. */
    if (number % LAGTRAP_COST_EVERY == 0 && !watch.recording)
        note_cost(counters, bpf_ktime_get_ns() - hit->now_ns - walked_ns);
    return 0;
}

/* A USDT marker whose arguments are not needed; the hottest path. With mitigated returns (SRSO,
 * retpolines), each helper costs 6 ns and the clock 31 ns, so it uses only three: clock, cookie,
 * thread. */
SEC("uprobe")
int on_site(struct pt_regs* ctx) {
    struct hit hit = {
        .now_ns = bpf_ktime_get_ns(), .stack_pointer = PT_REGS_SP(ctx), .site = PT_REGS_IP(ctx)};
    __u32 marker_id = bpf_get_attach_cookie(ctx);
    struct lagtrap_marker_config* marker = bpf_map_lookup_elem(&marker_configs, &marker_id);
    return marker ? on_hit(marker, &hit) : 0;
}

SEC("uprobe")
int on_usdt(struct pt_regs* ctx) {
    struct hit hit = {
        .now_ns = bpf_ktime_get_ns(), .stack_pointer = PT_REGS_SP(ctx), .site = PT_REGS_IP(ctx)};
    __u64 cookie = bpf_get_attach_cookie(ctx);
    __u32 marker_id = cookie;
    __u32 site_id = cookie >> LAGTRAP_COOKIE_SITE_SHIFT;
    struct lagtrap_marker_config* marker = bpf_map_lookup_elem(&marker_configs, &marker_id);
    struct lagtrap_site* site = bpf_map_lookup_elem(&argument_sites, &site_id);
    if (!marker || !site) return 0;
    if (site->key.place) hit.key = usdt_argument(ctx, &site->key);
    if (site->begin_time.place) hit.begin_ns = usdt_argument(ctx, &site->begin_time);
    if (site->trace.place) hit.trace = usdt_argument(ctx, &site->trace);
    return on_hit(marker, &hit);
}

/* Registers of the first six parameters (System V ABI), by their offset in struct pt_regs:
 * variable offsets can only be read through a helper. */
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

/* Entries, exit instructions and return probes: one program, because the kernel takes long to
 * verify each. Loaded for uprobe_multi links if the kernel has them (6.6), otherwise for
 * perf-event probes: the daemon sets the attach type before loading. */
SEC("uprobe")
int on_function(struct pt_regs* ctx) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    if (!leaves_function(ctx, cookie)) return 0;
    bool returned = exit_of(cookie) == LAGTRAP_EXIT_RETURNED;
    /* A kernel return probe fires after the return address was popped. */
    struct hit hit = {.now_ns = bpf_ktime_get_ns(),
                      .stack_pointer = PT_REGS_SP(ctx) - (returned ? sizeof(__u64) : 0),
                      .site = PT_REGS_IP(ctx),
                      .by_frame = cookie & LAGTRAP_COOKIE_BY_FRAME,
                      .of_others_too = cookie & LAGTRAP_COOKIE_EXIT_SHARED};
    __u32 marker_id = cookie;
    struct lagtrap_marker_config* marker = bpf_map_lookup_elem(&marker_configs, &marker_id);
    if (!marker) return 0;
    if (returned) {
        if (marker->key_argument != LAGTRAP_NO_ARGUMENT) hit.key = PT_REGS_RC(ctx);
    } else {
        hit.key = parameter(ctx, marker->key_argument);
        hit.begin_ns = parameter(ctx, marker->begin_time_argument);
        hit.trace = parameter(ctx, marker->trace_argument);
    }
    return on_hit(marker, &hit);
}

SEC("uprobe") /* entries and exits of Go functions, where return probes would end the program */
int on_go(struct pt_regs* ctx) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    if (!leaves_function(ctx, cookie)) return 0;
    struct hit hit = {.now_ns = bpf_ktime_get_ns(),
                      .stack_pointer = PT_REGS_SP(ctx),
                      .site = PT_REGS_IP(ctx),
                      .of_others_too = cookie & LAGTRAP_COOKIE_EXIT_SHARED};
    __u32 marker_id = cookie;
    struct lagtrap_marker_config* marker = bpf_map_lookup_elem(&marker_configs, &marker_id);
    if (!marker) return 0;
    /* Written in place: older kernels limit a program and its callees to 512 bytes of stack. */
    if (find_goroutine(ctx, marker->goid_offset, &hit.goroutine)) {
        hit.goid_offset = marker->goid_offset;
        hit.go_frame_offset = marker->go_frame_offset;
        hit.stack_pointer = hit.goroutine.stack_place;
    }
    hit.key = go_parameter(ctx, marker->key_argument);
    hit.begin_ns = go_parameter(ctx, marker->begin_time_argument);
    return on_hit(marker, &hit);
}

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

static __always_inline int on_tracepoint(void* ctx) {
    struct hit hit = {.now_ns = bpf_ktime_get_ns()};
    __u32 marker_id = bpf_get_attach_cookie(ctx);
    struct lagtrap_marker_config* marker = bpf_map_lookup_elem(&marker_configs, &marker_id);
    if (!marker) return 0;
    hit.key = field(ctx, marker->key_argument, marker->key_bytes);
    /* A device number has 32 bits, a sector hardly more than 40, so with the first field above,
     * nothing is lost. */
    if (marker->second_key_argument != LAGTRAP_NO_ARGUMENT)
        hit.key = (hit.key << 40 | hit.key >> 24) ^
                  field(ctx, marker->second_key_argument, marker->second_key_bytes);
    hit.begin_ns = field(ctx, marker->begin_time_argument, marker->begin_time_bytes);
    return on_hit(marker, &hit);
}

/* The kernel attaches a program to a tracepoint once, so each marker there has another program. */
#define TRACEPOINT_PROGRAM(number) \
    SEC("tp") int on_tracepoint_##number(void* ctx) { return on_tracepoint(ctx); }
TRACEPOINT_PROGRAM(0)
TRACEPOINT_PROGRAM(1)
TRACEPOINT_PROGRAM(2)
TRACEPOINT_PROGRAM(3)
