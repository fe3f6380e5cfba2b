/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Computes stack ids: a hash of the stack's owner and its frames.
 */
#ifndef LAGTRAP_BPF_STACK_ID_H
#define LAGTRAP_BPF_STACK_ID_H

#include "bpf/records.h"

static inline __attribute__((always_inline)) __u64 lagtrap_hash_in(__u64 hash, __u64 value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    return hash ^ hash >> 29;
}

/* Never 0. The owner is hashed separately: if it were XORed with the first frame, two forked
 * processes with the same callers would share an id if their pids and innermost addresses differ
 * by the same bits. */
static inline __attribute__((always_inline)) __u64 lagtrap_stack_id(__u64 owner,
                                                                    const __u64* frames,
                                                                    __u32 frame_count) {
    __u64 hash = lagtrap_hash_in(0xcbf29ce484222325ULL, owner);
    for (__u32 i = 0; i < LAGTRAP_MAX_FRAMES; i++) {
        if (i >= frame_count) break;
        hash = lagtrap_hash_in(hash, frames[i]);
    }
    return hash ? hash : 1;
}

#endif
