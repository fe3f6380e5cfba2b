/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Counts an event's hits by party and by process, and knows whose hits are limited to counting.
 */
#ifndef LAGTRAP_BPF_HIT_PARTIES_BPF_H
#define LAGTRAP_BPF_HIT_PARTIES_BPF_H

#include "bpf/event_monitor.h"
#include "bpf/kernel.bpf.h"
#include "bpf/party.bpf.h"

/* Separate maps, so that many processes of one party displace each other, not the counts of
 * parties. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 2048);
    __type(key, struct lagtrap_hitter);
    __type(value, struct lagtrap_hits);
} hits_by_party SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 2048);
    __type(key, struct lagtrap_hitter);
    __type(value, struct lagtrap_hits);
} hits_by_process SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LAGTRAP_LIMITED_PARTIES);
    __type(key, struct lagtrap_hitter);
    __type(value, __u32);
} limited_parties SEC(".maps");

static __always_inline void add_hit(void* hits, const struct lagtrap_hitter* who, bool paired) {
    struct lagtrap_hits* known = bpf_map_lookup_elem(hits, who);
    if (known) {
        __sync_fetch_and_add(paired ? &known->paired : &known->passed, 1);
        return;
    }
    struct lagtrap_hits first = {.paired = paired, .passed = !paired};
    bpf_map_update_elem(hits, who, &first, BPF_ANY);
}

/* Called for one in LAGTRAP_COST_EVERY hits. */
static __noinline int note_party(__u32 event, __u32 pid, bool paired) {
    struct lagtrap_hitter who = {.event = event, .party = current_party()};
    add_hit(&hits_by_party, &who, paired);
    who.pid = pid;
    add_hit(&hits_by_process, &who, paired);
    return 0;
}

static __noinline bool is_limited(__u32 event, __u32 pid) {
    struct lagtrap_hitter who = {.event = event, .party = current_party()};
    if (bpf_map_lookup_elem(&limited_parties, &who)) return true;
    who.pid = pid;
    return bpf_map_lookup_elem(&limited_parties, &who) != NULL;
}

/* Records a party that begins a run. When the array is full, only records that there are more. */
static __noinline int add_seen(struct lagtrap_seen_parties* seen, __u32 party) {
    __u32 mark = party + 1;
    for (int i = 0; i < LAGTRAP_SEEN_PARTIES; i++) {
        __u32 known = seen->parties[i];
        if (known == 0) known = __sync_val_compare_and_swap(&seen->parties[i], 0, mark);
        if (known == 0 || known == mark) return 0;
    }
    seen->more = 1;
    return 0;
}

static __always_inline void note_seen(struct lagtrap_event_counters* counters, __u32 party) {
    if (counters->seen.parties[0] != party + 1) add_seen(&counters->seen, party);
}

#endif
