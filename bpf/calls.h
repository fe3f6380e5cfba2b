/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * What calls.bpf.c and the daemon share: the trees of calls of one process.
 *
 * A call of a target function takes a free tree for its thread, in which every watched call below it becomes a node, in
 * the order in which they begin. Only the thread writes it, until the outermost call ends: then its state is
 * LAGTRAP_TREE_DONE, its number is sent, and user space, which has nodes and trees mapped, makes it free again. A tree that
 * took less than the minimum is free at once.
 *
 * In a program of Go the tree is a goroutine's, which changes threads: no two of them run it at once. Then all of its time
 * counts as on a CPU, since what its threads did is not known.
 */
#ifndef LAGTRAP_BPF_CALLS_H
#define LAGTRAP_BPF_CALLS_H

#include "bpf/listener.h"

#define LAGTRAP_CALL_TREES 32
#define LAGTRAP_CALL_NODES 8192 /* of one tree */
#define LAGTRAP_CALL_FUNCTIONS 10000
#define LAGTRAP_CALL_NO_PARENT 0xffffffff

/* Beside what the cookie of an exit has (listener.h), whose lower 32 bits are the function's number. */
#define LAGTRAP_COOKIE_CALL_TARGET (1ULL << 32) /* of an entry: calls of it begin a tree */

enum lagtrap_call_end {
    LAGTRAP_CALL_OPEN =
        0, /* left with its caller, by no instruction of its own: an exception, longjmp, a switch of stacks */
    LAGTRAP_CALL_RETURNED = 1, /* at an instruction, or a return probe */
    LAGTRAP_CALL_TAIL = 2,     /* another function began in its place */
    LAGTRAP_CALL_THREAD_END =
        3, /* of the outermost call: its thread ended, or became another program; its goroutine ended */
};

struct lagtrap_call_node {
    __u64 begin_ns; /* CLOCK_MONOTONIC */
    __u64 end_ns;   /* 0: see enum lagtrap_call_end */
    /* What the thread had by then since the outermost call began. */
    __u64 begin_on_cpu_ns;
    __u64 end_on_cpu_ns;
    __u64 begin_runnable_ns;
    __u64 end_runnable_ns;
    __u64 stack_pointer; /* at the first instruction */
    __u32 function;
    __u32 parent;           /* number of a node, or LAGTRAP_CALL_NO_PARENT */
    __u32 left_out;         /* calls below it that found no node free */
    __u32 end;              /* enum lagtrap_call_end */
    __u64 left_out_cost_ns; /* of their probes */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_call_node) == 80, "layout of nodes");

enum lagtrap_tree_state { LAGTRAP_TREE_FREE = 0, LAGTRAP_TREE_OPEN = 1, LAGTRAP_TREE_DONE = 2 };

struct lagtrap_call_tree {
    __u32 state; /* enum lagtrap_tree_state */
    __u32 tid;
    __u32 nodes;
    __u32 innermost; /* number of the open node that is called by all other open ones */
    __u64 end_ns;
    __u64 goroutine;         /* its number, in a program of Go; 0: the tree is a thread's */
    __u64 goroutine_address; /* of its structure (runtime.g) */
    char comm[16];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_call_tree) == 56, "layout of trees");

/* Of one function; in memory that user space has mapped. A count lost to another CPU does not matter. */
struct lagtrap_call_count {
    __u64 hits;      /* of its entry, inside of a tree and outside */
    __u64 cost_ns;   /* that the probes of one call take; by user space */
    __u64 taken_out; /* by user space: its probes are on their way out, ends perhaps before begins */
};

/* A call whose target only the running program knows. */
#define LAGTRAP_INDIRECT_SITES 16384
#define LAGTRAP_SEEN_TARGETS 4096

struct lagtrap_indirect_site {
    struct lagtrap_argument target;
    __u32 function; /* that the call is in */
    __u32 padding;
};

/* By the address that was called. */
struct lagtrap_seen {
    __u64 hits;
    __u32 function; /* that called it first */
    __u32 padding;
};

struct lagtrap_call_totals {
    __u64 trees;              /* that ended */
    __u64 short_trees;        /* of them: in less than the minimum */
    __u64 no_room;            /* calls of a target while all trees were taken */
    __u64 lost;               /* trees whose number could not be sent */
    __u64 indirect_hits;      /* of indirect calls that are looked at */
    __u64 indirect_cost_ns;   /* that one of them takes; by user space */
    __u64 relinking_until_ns; /* until then a begin may be seen twice; by user space */
};

#endif
