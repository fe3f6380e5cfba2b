/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Shared by recorder.bpf.c and the daemon's recorder, besides the records: the switch and the
 * counters.
 */
#ifndef LAGTRAP_BPF_RECORDER_H
#define LAGTRAP_BPF_RECORDER_H

#include "bpf/records.h"

#define LAGTRAP_SEEN_STACKS \
    131072 /* distinct stacks remembered per capture; a forgotten one is written again */

/* One page mapped by both sides. */
struct lagtrap_recording {
    __u32 on;
    __u32 without_user_stacks_of_switches; /* 1: omit user stacks of threads that block */
    __u32 capture; /* number of the capture, from 1; stacks are written once per capture */
    __u32 history; /* 1: while not recording, write the history of the last seconds to the ring */
    __u32 history_interval_ns; /* minimum time between two samples of a CPU */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_recording) == 20, "layout of the recording switch");

/* For copies of stacks (stack_copy.bpf.h). The daemon sets everything before a recording; the
 * programs only count up. */
struct lagtrap_copying {
    __u64 budget_bytes; /* 0: do not copy */
    __u64 taken_bytes;
    __u64 copies;
    __u64 left_out;  /* over budget */
    __u64 lost;      /* ring full */
    __u32 capture;   /* as recording.capture */
    __u32 first_pid; /* the process whose run triggered the recording */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_copying) == 48, "layout of the budget of copies");

#define LAGTRAP_PUBLISHING_PROCESSES 1024

/* Where the threads of a process publish what they work for (thread_context.bpf.h). */
struct lagtrap_context_place {
    __s64 offset;             /* of the pointer to it */
    __u32 block;              /* number of the block with the pointer; 0: from the thread pointer */
    __u32 block_entry_bytes;  /* in the C library's list of a thread's blocks */
    __s32 block_count_offset; /* of the list's length, from the list */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_context_place) == 24, "layout of places of contexts");

struct lagtrap_capture_counters {
    __u64 samples;
    __u64 idle_samples; /* ticks on an idle CPU; not recorded */
    __u64 switches;
    __u64 wakings;
    __u64 stacks;
    __u64 samples_lost;
    __u64 switches_lost;
    __u64 wakings_lost;
    __u64 stacks_lost;
    __u64 threads_lost;
    __u64 history_samples; /* of CPUs, sent or lost */
    __u64 history_waits;
    __u64 history_lost;
    __u64 contexts_lost;
    __u64 contexts_unreadable; /* published, but at no readable address */
};

#endif
