/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Tags of open runs (see event_monitor.h): computed by the programs at each hit, and by the daemon
 * when a run moves to another table.
 */
#ifndef LAGTRAP_BPF_RUN_TAG_H
#define LAGTRAP_BPF_RUN_TAG_H

#include "bpf/event_monitor.h"

static inline __attribute__((always_inline)) __u64 lagtrap_mix(__u64 value) {
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdULL; /* finalizer of MurmurHash3 */
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53ULL;
    value ^= value >> 33;
    return value;
}

/* `process` owns the key; 0 if keys are unique among processes, or on the machine. `depth` is
 * below LAGTRAP_MAX_DEPTH, so it does not overlap the event's number. */
static inline __attribute__((always_inline)) __u64 lagtrap_run_tag(__u64 key, __u64 process,
                                                                   __u32 event, __u32 depth) {
    return lagtrap_mix(key ^ lagtrap_mix(process << 32 | event << 8 | depth)) | 1;
}

/* The buckets where the run may be: the first, or the second if the first was crowded. `buckets` is
 * the size of the table. */
static inline __attribute__((always_inline)) __u32 lagtrap_first_bucket(__u64 tag, __u32 buckets) {
    return (tag >> 8) & (buckets - 1);
}
static inline __attribute__((always_inline)) __u32 lagtrap_second_bucket(__u64 tag, __u32 buckets) {
    return (tag >> 40) & (buckets - 1);
}

#endif
