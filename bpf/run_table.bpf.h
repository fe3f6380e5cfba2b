/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The table of open runs (see event_monitor.h): finds, claims and frees slots, and evicts runs if
 * none is free.
 */
#ifndef LAGTRAP_BPF_RUN_TABLE_BPF_H
#define LAGTRAP_BPF_RUN_TABLE_BPF_H

#include "bpf/event_monitor.h"
#include "bpf/kernel.bpf.h"
#include "bpf/run_tag.h"

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, LAGTRAP_MAX_EVENTS);
    __type(key, __u32);
    __type(value, struct lagtrap_event_counters);
} event_counters SEC(".maps");

/* Set before loading, like the sizes of the two maps. */
const volatile __u32 open_buckets = LAGTRAP_MIN_BUCKETS;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_MIN_BUCKETS);
    __type(key, __u32);
    __type(value, struct lagtrap_bucket);
} open_tags SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_MIN_BUCKETS* LAGTRAP_BUCKET_SLOTS);
    __type(key, __u32);
    __type(value, struct lagtrap_slot);
} open_slots SEC(".maps");

volatile struct lagtrap_watch watch = {.next_look_ns = LAGTRAP_NEVER_NS};

static __always_inline __u32 first_bucket(__u64 tag) {
    return lagtrap_first_bucket(tag, open_buckets);
}
static __always_inline __u32 second_bucket(__u64 tag) {
    return lagtrap_second_bucket(tag, open_buckets);
}

static __always_inline struct lagtrap_bucket* bucket_at(__u32 index) {
    return bpf_map_lookup_elem(&open_tags, &index);
}

/* Index of the slot with this tag in the bucket, or -1. */
static __always_inline int find_in(struct lagtrap_bucket* bucket, __u32 bucket_index, __u64 tag) {
#pragma unroll
    for (__u32 i = 0; i < LAGTRAP_BUCKET_TAGS; i++)
        if (*(volatile __u64*)&bucket->tags[i] == tag)
            return bucket_index * LAGTRAP_BUCKET_SLOTS + i;
    return -1;
}

/* An open run in its slot. */
struct found {
    struct lagtrap_slot* slot; /* NULL if there is none */
    __u64 tag;
    int index;
};

static __always_inline struct lagtrap_slot* slot_at(int index) {
    __u32 key = index;
    return bpf_map_lookup_elem(&open_slots, &key);
}

/* Index of the run's slot, or -1. Global, like claim_slot(), so that the verifier checks it once
 * rather than at every call. */
__noinline int index_of(__u64 tag) {
    struct lagtrap_bucket* first = bucket_at(first_bucket(tag));
    if (!first) return -1;
    int index = find_in(first, first_bucket(tag), tag);
    if (index >= 0 || (*(volatile __u64*)&first->state & LAGTRAP_SPILLED_MASK) == 0) return index;
    struct lagtrap_bucket* second = bucket_at(second_bucket(tag));
    return second ? find_in(second, second_bucket(tag), tag) : -1;
}

static __always_inline __u64 owned_count(__u64 tag) {
    return tag >> LAGTRAP_OWNED_COUNT_SHIFT << LAGTRAP_OWNED_COUNT_SHIFT;
}

#define LAGTRAP_COUNT_TRIES 8

/* Adds to a count of the run with this tag. Returns its previous value, or -1 if it belongs to
 * another run, would fall below zero, or lost eight races. Global, so that the verifier checks
 * it once. */
__noinline int change_count(__u64* count, __u64 tag, int by) {
    if (!count) return -1;
#pragma unroll
    for (int i = 0; i < LAGTRAP_COUNT_TRIES; i++) {
        __u64 old = *(volatile __u64*)count;
        if (owned_count(old) != owned_count(tag) || (by < 0 && (__u32)old == 0)) return -1;
        if (__sync_val_compare_and_swap(count, old, old + by) == old)
            return (__u32)old & 0x7fffffff;
    }
    return -1;
}

static __always_inline __u32 depth_inside_of(const struct lagtrap_slot* slot) {
    return (__u32) * (volatile __u64*)&slot->open_depth;
}

static __always_inline struct found find_run(__u64 tag) {
    struct found found = {.tag = tag, .index = index_of(tag)};
    if (found.index >= 0) found.slot = slot_at(found.index);
    /* A slot that another CPU has claimed but not filled still holds data of an earlier run. */
    if (found.slot && *(volatile __u64*)&found.slot->deadline_ns == 0) found.slot = NULL;
    return found;
}

static __always_inline int claim_in(struct lagtrap_bucket* bucket, __u32 bucket_index, __u64 tag) {
#pragma unroll
    for (__u32 i = 0; i < LAGTRAP_BUCKET_TAGS; i++)
        if (*(volatile __u64*)&bucket->tags[i] == 0 &&
            __sync_val_compare_and_swap(&bucket->tags[i], 0, tag) == 0)
            return bucket_index * LAGTRAP_BUCKET_SLOTS + i;
    return -1;
}

static __always_inline __u32 places_used(struct lagtrap_bucket* bucket) {
    __u32 used = 0;
#pragma unroll
    for (__u32 i = 0; i < LAGTRAP_BUCKET_TAGS; i++) used += *(volatile __u64*)&bucket->tags[i] != 0;
    return used;
}

/* Claims a free slot and sets its tag: in the first bucket, unless that is crowded and the second
 * less so. -1 if both buckets are full. */
__noinline int claim_slot(__u64 tag) {
    struct lagtrap_bucket* first = bucket_at(first_bucket(tag));
    if (!first) return -1;
    __u32 used = places_used(first);
    int index = used < LAGTRAP_CROWDED_TAGS ? claim_in(first, first_bucket(tag), tag) : -1;
    if (index >= 0) return index;
    struct lagtrap_bucket* second = bucket_at(second_bucket(tag));
    if (!second) return -1;
    if (places_used(second) < used) {
        __sync_fetch_and_add(&first->state,
                             1); /* before the claim, so that searches for the run look there */
        index = claim_in(second, second_bucket(tag), tag);
        if (index >= 0) return index;
        __sync_fetch_and_add(&first->state, -1);
    }
    return claim_in(first, first_bucket(tag), tag);
}

#define LAGTRAP_DUE_TRIES 4

/* Has user space look at the run in this slot by `due_ns`, rounded up. Returns 0. Global, so that
 * the verifier checks it once. */
__noinline int want_look_at(int index, __u64 due_ns) {
    struct lagtrap_bucket* bucket = bucket_at((__u32)index / LAGTRAP_BUCKET_SLOTS);
    if (!bucket) return 0;
    due_ns = (due_ns + LAGTRAP_SPILLED_MASK) & ~LAGTRAP_SPILLED_MASK;
#pragma unroll
    for (int i = 0; i < LAGTRAP_DUE_TRIES; i++) {
        __u64 old = *(volatile __u64*)&bucket->state;
        __u64 earliest_ns = old & ~LAGTRAP_SPILLED_MASK;
        if (earliest_ns != 0 && earliest_ns <= due_ns) return 0;
        if (__sync_val_compare_and_swap(&bucket->state, old,
                                        due_ns | (old & LAGTRAP_SPILLED_MASK)) == old)
            return 0;
    }
    watch.look_at_all = 1;
    return 0;
}

/* Takes the run in a slot, so that the caller may end or drop it; among concurrent attempts,
 * also of user space, only one succeeds. Global, like the other functions here that take only
 * numbers, so that the verifier checks them once. */
__noinline bool take_run(int index, __u64 tag) {
    struct lagtrap_bucket* bucket = bucket_at((__u32)index / LAGTRAP_BUCKET_SLOTS);
    __u32 place = index & (LAGTRAP_BUCKET_SLOTS - 1);
    if (!bucket || place >= LAGTRAP_BUCKET_TAGS) return false;
    return __sync_val_compare_and_swap(&bucket->tags[place], tag, LAGTRAP_TAG_TAKEN) == tag;
}

static __always_inline void forget_spill(__u64 tag, __u32 bucket_index) {
    if (first_bucket(tag) == bucket_index) return;
    struct lagtrap_bucket* first = bucket_at(first_bucket(tag));
    if (first) __sync_fetch_and_add(&first->state, -1);
}

/* An event and a party; runs compete for slots by these. */
static __always_inline __u64 crowd_of(__u32 event, __u32 party) {
    return (__u64)event << 32 | party;
}
static __always_inline __u64 crowd_of_run(const struct lagtrap_run* run) {
    return crowd_of(run->event, run->begin_party);
}

/* A search for a run to evict from the two full buckets of a tag. */
struct crowd {
    __u64 tag; /* of the run that needs a slot */
    __u64 now_ns;
    __u64 rank;     /* of the best candidate; the smallest is evicted */
    __u64 own;      /* crowd_of() the run that needs a slot */
    __u64 crowding; /* the crowd with most of the slots */
    __u32 votes;
    __u32 count;
    __u32 chosen;
};

/* Slot `i` of both buckets; NULL for the word that holds no tag. */
static __always_inline struct lagtrap_slot* slot_of_crowd(const struct crowd* crowd, __u32 i,
                                                          __u32* index) {
    __u32 bucket = i < LAGTRAP_BUCKET_SLOTS ? first_bucket(crowd->tag) : second_bucket(crowd->tag);
    __u32 place = i & (LAGTRAP_BUCKET_SLOTS - 1);
    *index = bucket * LAGTRAP_BUCKET_SLOTS + place;
    return place < LAGTRAP_BUCKET_TAGS ? slot_at(*index) : NULL;
}

/* Callback of bpf_loop(): finds the crowd with more than half of the slots, if there is one;
 * otherwise an arbitrary one (Boyer-Moore majority vote). */
static long vote_for_crowd(__u32 step, struct crowd* crowd) {
    __u32 index;
    struct lagtrap_slot* slot = slot_of_crowd(crowd, step, &index);
    if (!slot) return 0;
    __u64 one = crowd_of_run(&slot->run);
    if (crowd->votes == 0) crowd->crowding = one;
    crowd->votes += crowd->crowding == one ? 1 : -1;
    return 0;
}

static __always_inline bool is_stale(const struct lagtrap_slot* slot, __u64 now_ns) {
    __u64 begin_ns = slot->run.begin_hit_ns, deadline_ns = slot->deadline_ns;
    if (deadline_ns == 0 || deadline_ns < begin_ns) return false;
    return now_ns > begin_ns + LAGTRAP_STALE_NS &&
           now_ns > begin_ns + (deadline_ns - begin_ns) * LAGTRAP_STALE_THRESHOLDS;
}

/* Chooses the least valuable run of that crowd: the oldest of those that seem to have no end,
 * otherwise the newest, because older ones may be slow. A crowd that evicts its own runs gives
 * up only the former. */
static long choose_run(__u32 step, struct crowd* crowd) {
    __u32 index;
    struct lagtrap_slot* slot = slot_of_crowd(crowd, step, &index);
    if (!slot || crowd_of_run(&slot->run) != crowd->crowding) return 0;
    crowd->count += 1;
    bool stale = is_stale(slot, crowd->now_ns);
    if (slot->deadline_ns == 0 || (!stale && crowd->crowding == crowd->own)) return 0;
    __u64 rank = stale ? slot->run.begin_hit_ns : LAGTRAP_NEVER_NS - slot->run.begin_hit_ns;
    if (rank >= crowd->rank) return 0;
    crowd->rank = rank;
    crowd->chosen = index;
    return 0;
}

/* Called if both buckets of a tag are full: evicts a run of the crowd that has most of the
 * slots. Returns the slot's index, with its tag set, or -1. */
__noinline int make_room(__u64 tag, __u64 own, __u64 now_ns) {
    struct crowd crowd = {
        .tag = tag, .now_ns = now_ns, .rank = LAGTRAP_NEVER_NS, .own = own, .crowding = own};
    bpf_loop(2 * LAGTRAP_BUCKET_SLOTS, vote_for_crowd, &crowd, 0);
    bpf_loop(2 * LAGTRAP_BUCKET_SLOTS, choose_run, &crowd, 0);
    if (crowd.rank == LAGTRAP_NEVER_NS || crowd.count < LAGTRAP_BUCKET_TAGS / 2) return -1;
    __u32 crowding = crowd.crowding >> 32, chosen = crowd.chosen;
    __u32 bucket_index = chosen / LAGTRAP_BUCKET_SLOTS, place = chosen % LAGTRAP_BUCKET_SLOTS;
    struct lagtrap_bucket* bucket = bucket_at(bucket_index);
    struct lagtrap_slot* slot = slot_at(chosen);
    struct lagtrap_event_counters* counters = bpf_map_lookup_elem(&event_counters, &crowding);
    if (!bucket || !slot || !counters || place >= LAGTRAP_BUCKET_TAGS) return -1;
    __u64 old = *(volatile __u64*)&bucket->tags[place];
    if (old == 0 || old == LAGTRAP_TAG_TAKEN || crowd_of_run(&slot->run) != crowd.crowding ||
        !take_run(chosen, old))
        return -1;
    *(volatile __u64*)&slot->deadline_ns = 0;
    __sync_fetch_and_add(crowd.crowding == own ? &counters->expired : &counters->lost, 1);
    forget_spill(old, bucket_index);
    if (bucket_index != first_bucket(tag)) {
        struct lagtrap_bucket* first = bucket_at(first_bucket(tag));
        if (first) __sync_fetch_and_add(&first->state, 1);
    }
    *(volatile __u64*)&bucket->tags[place] = tag;
    return chosen;
}

/* Frees the slot of a taken run. Returns 0. */
__noinline int free_slot(int index, __u64 tag) {
    __u32 bucket_index = (__u32)index / LAGTRAP_BUCKET_SLOTS;
    struct lagtrap_bucket* bucket = bucket_at(bucket_index);
    __u32 place = index & (LAGTRAP_BUCKET_SLOTS - 1);
    if (!bucket || place >= LAGTRAP_BUCKET_TAGS) return 0;
    *(volatile __u64*)&bucket->tags[place] = 0;
    forget_spill(tag, bucket_index);
    return 0;
}

/* Makes a taken run visible as open again; its slot must be filled before. */
static __always_inline void put_back(int index, __u64 tag) {
    struct lagtrap_bucket* bucket = bucket_at((__u32)index / LAGTRAP_BUCKET_SLOTS);
    __u32 place = index & (LAGTRAP_BUCKET_SLOTS - 1);
    if (bucket && place < LAGTRAP_BUCKET_TAGS) *(volatile __u64*)&bucket->tags[place] = tag;
}

static __always_inline void give_up(const struct found* run) {
    if (!take_run(run->index, run->tag)) return;
    *(volatile __u64*)&run->slot->deadline_ns = 0;
    free_slot(run->index, run->tag);
}

#endif
