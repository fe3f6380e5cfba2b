/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Shared by functions.bpf.c and the daemon: a flat trace of many functions of one process.
 *
 * A thread's open calls are in its task storage. A call that ends is counted for its function
 * and, if it took at least the minimum, also sent. Its callers took at least as long, so the
 * calls sent nest.
 */
#ifndef LAGTRAP_BPF_FUNCTIONS_H
#define LAGTRAP_BPF_FUNCTIONS_H

#include "bpf/event_monitor.h"
#include "bpf/traced_functions.h"

#define LAGTRAP_TRACED_FUNCTIONS 10000
#define LAGTRAP_TRACED_DEPTH 256 /* open calls tracked per thread; a power of two */
#define LAGTRAP_LONGEST_PATH 12  /* callers kept of a function's longest call */
#define LAGTRAP_TRACED_RING_BYTES (1 << 20)

enum lagtrap_traced_end {
    LAGTRAP_TRACED_RETURNED = 0,
    LAGTRAP_TRACED_LEFT =
        1, /* not at an exit of its own: found when something began that it cannot have called */
};

/* Sent for a call that took at least the minimum. */
struct lagtrap_traced_call {
    __u64 begin_ns; /* CLOCK_MONOTONIC */
    __u64 end_ns;
    __u64 probes_ns;  /* part of it: its probes and those of calls below it */
    __u64 off_cpu_ns; /* part of it: blocked or waiting for a CPU */
    __u32 function;
    __u32 tid;
    __u32 end; /* enum lagtrap_traced_end */
    __u32 padding;
    char comm[16];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_traced_call) == 64, "layout of calls");

/* Per function; mapped by user space. */
struct lagtrap_traced_function {
    struct lagtrap_probed_function probes;
    __u64 calls;      /* calls that ended */
    __u64 left;       /* of those: not at an exit of their own */
    __u64 own_ns;     /* of all calls, without calls below them and without probes */
    __u64 longest_ns; /* without probes */
    __u32 path_length;
    __u32 path[LAGTRAP_LONGEST_PATH]; /* of the longest call, its caller first; written without
                                         synchronisation */
    __u64 unbegun; /* calls that ended and whose begin the runtime did not report */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_traced_function) == 128, "layout of functions");

struct lagtrap_traced_totals {
    struct lagtrap_trace_limits limits;
    __u64 sent;
    __u64 not_sent; /* ring full */
    __u64 too_deep; /* calls nested deeper than LAGTRAP_TRACED_DEPTH, not tracked at all */
    /* For the probes of runtimes. */
    __u64 runtime_hits;
    __u64 runtime_ns;      /* run time of the programs there */
    __u64 runtime_unnamed; /* hits of functions over the limit, or with unreadable names */
    __u32 runtime_epoch;   /* set by user space, also in the cookies of its probes; calls of another
                              epoch ended unseen */
    __u32 next_number;     /* for a runtime's next new function; user space sets the first */
};

/* Functions that a language runtime reports by its own USDT probes. They are identified by name
 * and numbered as they appear, after the functions in machine code. */
#define LAGTRAP_RUNTIME_SITES 32
#define LAGTRAP_RUNTIME_FUNCTIONS 4096
#define LAGTRAP_RUNTIME_SCOPE \
    256 /* bytes of a class or file, including the final 0; a power of two */
#define LAGTRAP_RUNTIME_NAME 128 /* likewise, of a function */

enum lagtrap_runtime_flag {
    LAGTRAP_RUNTIME_IN_C = 1,    /* functions of the language that are machine code */
    LAGTRAP_RUNTIME_UNBEGUN = 2, /* count ends whose begin is not reported */
};

/* Where a probe has its arguments. If a length is LAGTRAP_ARGUMENT_NONE, the text ends with a 0. */
struct lagtrap_runtime_site {
    struct lagtrap_argument scope, scope_length, name, name_length, file, line;
    __u64 inside_ns; /* as in struct lagtrap_probed_function, for its functions */
    __u64 around_ns;
    __u32 flags;  /* enum lagtrap_runtime_flag */
    __u32 number; /* its index in the map */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_runtime_site) == 120, "layout of sites");

struct lagtrap_runtime_key {
    char scope[LAGTRAP_RUNTIME_SCOPE];
    char name[LAGTRAP_RUNTIME_NAME];
};

/* Sent once per function, before its first call. */
struct lagtrap_runtime_function {
    __u32 number;
    __u32 site;
    __u64 line;
    struct lagtrap_runtime_key key;
    char file[LAGTRAP_RUNTIME_SCOPE];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_runtime_function) == 656, "layout of names");

#endif
