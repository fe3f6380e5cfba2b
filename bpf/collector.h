/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * What collector.bpf.c and the daemon's recorder share beside the records: the switch and the counters.
 */
#ifndef LAGTRAP_BPF_COLLECTOR_H
#define LAGTRAP_BPF_COLLECTOR_H

#include "bpf/records.h"

#define LAGTRAP_SEEN_STACKS 131072 /* distinct stacks remembered in a capture; one forgotten is written again */

/* One page that both sides map. */
struct lagtrap_recording {
    __u32 on;
    __u32
        without_user_stacks_of_switches; /* 1: threads that block are recorded with the kernel's part of their stacks */
    __u32 capture; /* number of the capture, from 1: a stack seen in another capture is new in this one */
    __u32 history; /* 1: while nothing is recorded, what the machine's last seconds are told by goes into the ring */
    __u32 history_interval_ns; /* between two samples of a CPU */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_recording) == 20, "layout of the recording switch");

/* Of copies of stacks (stack_copy.bpf.h). The daemon sets all of it before a recording; the programs count up. */
struct lagtrap_copying {
    __u64 budget_bytes; /* 0: nothing is copied */
    __u64 taken_bytes;
    __u64 copies;
    __u64 left_out;  /* for want of budget */
    __u64 lost;      /* for want of room in the ring */
    __u32 capture;   /* as recording.capture */
    __u32 first_pid; /* the process whose run began the recording */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_copying) == 48, "layout of the budget of copies");

struct lagtrap_capture_counters {
    __u64 samples;
    __u64 idle_samples; /* ticks that found the CPU idle; not recorded */
    __u64 switches;
    __u64 wakings;
    __u64 stacks;
    __u64 samples_lost;
    __u64 switches_lost;
    __u64 wakings_lost;
    __u64 stacks_lost;
    __u64 threads_lost;
    __u64 history_samples; /* of a CPU, told or lost */
    __u64 history_waits;
    __u64 history_lost;
};

#endif
