/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Shared by the traces of calls, functions and objects, and the daemon.
 */
#ifndef LAGTRAP_BPF_TRACED_FUNCTIONS_H
#define LAGTRAP_BPF_TRACED_FUNCTIONS_H

#include "bpf/records.h"

/* At the begin of what a trace keeps for each function; mapped by user space. Increments lost
 * between CPUs do not matter. */
struct lagtrap_probed_function {
    __u64 hits;      /* of its entry, or of all its probes if they trace objects */
    __u64 inside_ns; /* cost of a call's probes that counts as its duration; set by user space */
    __u64 around_ns; /* their cost before and after that */
    __u64 detached;  /* set by user space: its probes are being detached, exits perhaps before
                         entries, so ends of open calls are no longer seen */
};

/* At the begin of a trace's totals; set by user space. */
struct lagtrap_trace_limits {
    __u64 min_ns;             /* shorter calls are not sent */
    __u64 relinking_until_ns; /* until then, begins may be seen twice */
};

#endif
