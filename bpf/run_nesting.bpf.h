/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Runs inside runs with the same key: which of them a hit begins, ends or shows to have been left.
 */
#ifndef LAGTRAP_BPF_RUN_NESTING_BPF_H
#define LAGTRAP_BPF_RUN_NESTING_BPF_H

#include "bpf/run_life.bpf.h"

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
static __always_inline struct found find_innermost(const struct lagtrap_event_config* config,
                                                   __u32 event, const struct hit* hit,
                                                   const struct found* outer) {
    struct found none = {};
    __u32 depth = depth_inside_of(outer->slot);
    return depth < LAGTRAP_MAX_DEPTH ? find_run(tag_of(config, event, hit, depth)) : none;
}

/* Removes the innermost run from the chain. */
static __always_inline void drop_innermost(struct run_chain* chain, const struct found* run,
                                           __u32 depth) {
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
static __always_inline bool was_left(const struct lagtrap_event_config* config,
                                     const struct lagtrap_slot* slot, const struct hit* hit) {
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
static __always_inline long match_call(struct run_chain* chain, const struct found* run,
                                       __u32 depth) {
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
static __always_inline int begin_inside(struct lagtrap_event_config* config,
                                        struct lagtrap_event_counters* counters, __u32 event,
                                        const struct hit* hit, struct found* outer) {
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
static __always_inline int depth_inside(struct lagtrap_event_config* config,
                                        struct lagtrap_event_counters* counters, __u32 event,
                                        const struct hit* hit, struct found* outer) {
    if (config->nesting == LAGTRAP_NESTING_RESTART) {
        if (!take_run(outer->index, outer->tag)) return 0; /* it has just ended */
        count_unended(counters, outer->slot, hit);
        open_again(outer, config, event, hit);
        return -1;
    }
    if (config->nesting == LAGTRAP_NESTING_OUTERMOST)
        return begin_inside(config, counters, event, hit, outer);
    bool is_call = config->flags & LAGTRAP_EVENT_MATCH_STACK;
    if (config->flags & (LAGTRAP_EVENT_MATCH_STACK | LAGTRAP_EVENT_STACK_ORDER)) {
        struct run_chain chain = {
            .config = config, .counters = counters, .hit = hit, .outer = outer, .event = event};
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
    int depth = change_count(&outer->slot->open_depth, outer->tag, 1) +
                1; /* 0 if the outer run has just ended */
    if (depth >= LAGTRAP_MAX_DEPTH) {
        __sync_fetch_and_add(&counters->too_deep, 1);
        return -1;
    }
    return depth;
}

#endif
