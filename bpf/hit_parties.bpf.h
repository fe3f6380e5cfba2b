/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Whose hits an event has, by user and by process, and whose do nothing but count.
 */
#ifndef LAGTRAP_BPF_HIT_PARTIES_BPF_H
#define LAGTRAP_BPF_HIT_PARTIES_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/listener.h"

/* Users and processes apart: many processes of one user push out each other, not what tells of the users. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 2048);
    __type(key, struct lagtrap_party);
    __type(value, struct lagtrap_party_hits);
} hits_of_users SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 2048);
    __type(key, struct lagtrap_party);
    __type(value, struct lagtrap_party_hits);
} hits_of_processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LAGTRAP_LIMITED_PARTIES);
    __type(key, struct lagtrap_party);
    __type(value, __u32);
} limited_parties SEC(".maps");

static __always_inline void add_hit(void* hits_of_parties, const struct lagtrap_party* party, bool paired) {
    struct lagtrap_party_hits* known = bpf_map_lookup_elem(hits_of_parties, party);
    if (known) {
        __sync_fetch_and_add(paired ? &known->paired : &known->passed, 1);
        return;
    }
    struct lagtrap_party_hits first = {.paired = paired, .passed = !paired};
    bpf_map_update_elem(hits_of_parties, party, &first, BPF_ANY);
}

/* For one hit of many. */
static __noinline int note_party(__u32 event, __u32 pid, bool paired) {
    struct lagtrap_party party = {.event = event, .uid = bpf_get_current_uid_gid()};
    add_hit(&hits_of_users, &party, paired);
    party.pid = pid;
    add_hit(&hits_of_processes, &party, paired);
    return 0;
}

static __noinline bool is_limited(__u32 event, __u32 pid) {
    struct lagtrap_party party = {.event = event, .uid = bpf_get_current_uid_gid()};
    if (bpf_map_lookup_elem(&limited_parties, &party)) return true;
    party.pid = pid;
    return bpf_map_lookup_elem(&limited_parties, &party) != NULL;
}

#endif
