/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * What functions.bpf.c and the daemon share: the calls of many functions of one process, each for itself.
 *
 * A thread's open calls are in its task storage. A call that ends is counted for its function; one that took the minimum at
 * least is sent too. Its callers took as long, so what is sent nests.
 */
#ifndef LAGTRAP_BPF_FUNCTIONS_H
#define LAGTRAP_BPF_FUNCTIONS_H

#include "bpf/listener.h"

#define LAGTRAP_TRACED_FUNCTIONS 10000
#define LAGTRAP_TRACED_DEPTH 256 /* open calls of a thread that are known; a power of two */
#define LAGTRAP_LONGEST_PATH 12  /* callers of a function's longest call that are kept */
#define LAGTRAP_TRACED_RING_BYTES (1 << 20)

enum lagtrap_traced_end {
    LAGTRAP_TRACED_RETURNED = 0,
    LAGTRAP_TRACED_LEFT = 1, /* by no instruction of its own: when something began that it cannot have called */
};

/* Sent of a call that took the minimum. */
struct lagtrap_traced_call {
    __u64 begin_ns; /* CLOCK_MONOTONIC */
    __u64 end_ns;
    __u64 probes_ns;  /* of these, taken by probes of its own and of calls below it */
    __u64 off_cpu_ns; /* of these, blocked or waiting for a CPU */
    __u32 function;
    __u32 tid;
    __u32 end; /* enum lagtrap_traced_end */
    __u32 padding;
    char comm[16];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_traced_call) == 64, "layout of calls");

/* Of one function; in memory that user space has mapped. */
struct lagtrap_traced_function {
    __u64 hits;       /* of its entry */
    __u64 inside_ns;  /* that the probes of one call take between its two moments; by user space */
    __u64 around_ns;  /* and before and behind them */
    __u64 calls;      /* that ended */
    __u64 left;       /* of them: by no instruction of its own */
    __u64 own_ns;     /* of all calls, without calls below them and without probes */
    __u64 longest_ns; /* without probes */
    __u32 path_length;
    __u32
        path[LAGTRAP_LONGEST_PATH]; /* of the longest call: its caller first; written without care for others who do */
    __u32 taken_out;                /* by user space: ends of calls that are open are not seen any more */
    __u64 unbegun;                  /* calls that ended, and whose begin the runtime did not tell */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_traced_function) == 120, "layout of functions");

struct lagtrap_traced_totals {
    __u64 least_ns;           /* shorter calls are not sent; by user space, which raises it where too many are */
    __u64 relinking_until_ns; /* until then a begin may be seen twice; by user space */
    __u64 sent;
    __u64 not_sent; /* for want of room */
    __u64 too_deep; /* calls below LAGTRAP_TRACED_DEPTH others, which are not known at all */
    /* Of the probes of runtimes. */
    __u64 runtime_hits;
    __u64 runtime_ns;      /* that the programs took there */
    __u64 runtime_unnamed; /* hits of functions beyond the limit, or whose name could not be read */
    __u32
        runtime_epoch; /* by user space, and in the cookies of its probes: what began in another one has ended unseen */
    __u32 next_number; /* of the next function of a runtime; the first by user space */
};

/* Functions that the runtime of a language tells of by USDT probes of its own. They are known by their names, and numbered as
 * they come: their numbers follow those of machine code. */
#define LAGTRAP_RUNTIME_SITES 32
#define LAGTRAP_RUNTIME_FUNCTIONS 4096
#define LAGTRAP_RUNTIME_SCOPE 256 /* bytes of a class or file, with the 0 at the end; a power of two */
#define LAGTRAP_RUNTIME_NAME 128  /* the same of a function */

enum lagtrap_runtime_flag {
    LAGTRAP_RUNTIME_IN_C = 1,    /* functions of the language that are machine code */
    LAGTRAP_RUNTIME_UNBEGUN = 2, /* ends whose begin is not told are counted */
};

/* Where a probe has what is asked for. A length of LAGTRAP_ARGUMENT_NONE: the text ends with a 0. */
struct lagtrap_runtime_site {
    struct lagtrap_argument scope, scope_length, name, name_length, file, line;
    __u64 inside_ns; /* of struct lagtrap_traced_function, for its functions */
    __u64 around_ns;
    __u32 flags;  /* enum lagtrap_runtime_flag */
    __u32 number; /* its place in the map */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_runtime_site) == 120, "layout of sites");

struct lagtrap_runtime_key {
    char scope[LAGTRAP_RUNTIME_SCOPE];
    char name[LAGTRAP_RUNTIME_NAME];
};

/* Sent once of each function, before its first call. */
struct lagtrap_runtime_function {
    __u32 number;
    __u32 site;
    __u64 line;
    struct lagtrap_runtime_key key;
    char file[LAGTRAP_RUNTIME_SCOPE];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_runtime_function) == 656, "layout of names");

#endif
