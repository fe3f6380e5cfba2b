/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Pairs begins, stages and ends: what a marker hit does to the runs with its key.
 */
#ifndef LAGTRAP_BPF_RUN_PAIRING_BPF_H
#define LAGTRAP_BPF_RUN_PAIRING_BPF_H

#include "bpf/run_life.bpf.h"
#include "bpf/run_nesting.bpf.h"

static __always_inline int on_begin(struct lagtrap_event_config* config,
                                    struct lagtrap_event_counters* counters, __u32 event,
                                    const struct hit* hit) {
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
static __always_inline bool close_outermost(const struct lagtrap_event_config* config,
                                            const struct found* run) {
    __u64 none_inside = owned_count(run->tag);
    if (!(config->flags & KEYS_OF_PROCESS)) return true;
    return __sync_val_compare_and_swap(&run->slot->open_depth, none_inside, 0) == none_inside;
}

static __always_inline void count_unmatched_end(struct lagtrap_event_counters* counters,
                                                const struct hit* hit) {
    if (hit->of_others_too) return;
    __sync_fetch_and_add(&counters->markers[LAGTRAP_PLACE_END].unmatched, 1);
}

/* An end while runs are open inside the outermost one. Returns 1 if a run ends, and sets `run`
 * to it. */
static __always_inline int end_inside(struct lagtrap_event_config* config,
                                      struct lagtrap_event_counters* counters, __u32 event,
                                      const struct hit* hit, struct found* run) {
    struct found* outer = run;
    bool ordered = config->flags & LAGTRAP_EVENT_STACK_ORDER;
    if (config->nesting == LAGTRAP_NESTING_OUTERMOST) {
        if (ordered && !outer->slot->doubtful && hit->stack_pointer >= outer->slot->stack_pointer) {
            __sync_fetch_and_add(&counters->markers[LAGTRAP_PLACE_BEGIN].unmatched,
                                 depth_inside_of(outer->slot));
            return 1;
        }
        return change_count(&outer->slot->open_depth, outer->tag, -1) < 0;
    }
    if (ordered) {
        struct run_chain chain = {
            .config = config, .counters = counters, .hit = hit, .outer = outer, .event = event};
        bpf_loop(LAGTRAP_MAX_DEPTH, drop_unended_run, &chain, 0);
        if (depth_inside_of(outer->slot) == 0) return 1;
    }
    int depth = change_count(&outer->slot->open_depth, outer->tag, -1);
    if (depth < 0) return 1; /* another end was faster */
    if (depth >= LAGTRAP_MAX_DEPTH) return 0;
    *run = find_run(tag_of(config, event, hit, depth));
    return run->slot != NULL; /* otherwise its begin was lost, and counted as such */
}

static __always_inline int on_end(struct lagtrap_event_config* config,
                                  struct lagtrap_event_counters* counters, __u32 event,
                                  const struct hit* hit) {
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

static __always_inline int on_stage(const struct lagtrap_event_config* config,
                                    struct lagtrap_event_counters* counters, __u32 event,
                                    __u16 stage, const struct hit* hit) {
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
    if ((config->flags & KEYS_OF_PROCESS) && slot->times_generation)
        count_hit(slot, hit->tid, hit->now_ns);
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
