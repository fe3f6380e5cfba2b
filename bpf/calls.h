/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Shared by calls.bpf.c and the daemon: call trees of one process.
 *
 * A call of a target function takes a free tree for its thread. Every watched call below it
 * becomes a node, in the order of their begins. Only the thread writes the tree until the
 * outermost call ends. Then the tree's state becomes LAGTRAP_TREE_DONE, and its number is sent
 * to user space, which has nodes and trees mapped and frees the tree. A tree shorter than the
 * minimum is freed at once.
 *
 * In a Go program, the tree belongs to a goroutine, which may change threads but never runs on
 * two at once. All of its time counts as on a CPU, because what its threads did is unknown.
 */
#ifndef LAGTRAP_BPF_CALLS_H
#define LAGTRAP_BPF_CALLS_H

#include "bpf/event_monitor.h"
#include "bpf/traced_functions.h"

#define LAGTRAP_CALL_TREES 32
#define LAGTRAP_CALL_NODES 8192 /* per tree */
#define LAGTRAP_CALL_FUNCTIONS 10000
#define LAGTRAP_CALL_NO_PARENT 0xffffffff

/* Added to the cookie of an exit (event_monitor.h), whose lower 32 bits are the function's number.
 */
#define LAGTRAP_COOKIE_CALL_TARGET (1ULL << 32) /* of an entry: calls of it begin a tree */

enum lagtrap_call_end {
    LAGTRAP_CALL_OPEN =
        0, /* ended with its caller, not at an exit of its own: exception, longjmp, stack switch */
    LAGTRAP_CALL_RETURNED = 1, /* at an exit instruction or a return probe */
    LAGTRAP_CALL_TAIL = 2,     /* another function began in its place */
    LAGTRAP_CALL_THREAD_END =
        3, /* outermost call only: its thread ended or called exec, or its goroutine ended */
};

struct lagtrap_call_node {
    __u64 begin_ns; /* CLOCK_MONOTONIC */
    __u64 end_ns;   /* 0: see enum lagtrap_call_end */
    /* Sums of the thread at begin and end, since the outermost call began. */
    __u64 begin_on_cpu_ns;
    __u64 end_on_cpu_ns;
    __u64 begin_runnable_ns;
    __u64 end_runnable_ns;
    __u64 stack_pointer; /* at the first instruction */
    __u32 function;
    __u32 parent;           /* index of a node, or LAGTRAP_CALL_NO_PARENT */
    __u32 left_out;         /* calls below it for which no node was free */
    __u32 end;              /* enum lagtrap_call_end */
    __u64 left_out_cost_ns; /* cost of their probes */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_call_node) == 80, "layout of nodes");

enum lagtrap_tree_state { LAGTRAP_TREE_FREE = 0, LAGTRAP_TREE_OPEN = 1, LAGTRAP_TREE_DONE = 2 };

struct lagtrap_call_tree {
    __u32 state; /* enum lagtrap_tree_state */
    __u32 tid;
    __u32 nodes;
    __u32 innermost; /* index of the innermost open node */
    __u64 end_ns;
    __u64 goroutine;         /* its number, in a Go program; 0: the tree belongs to a thread */
    __u64 goroutine_address; /* address of its structure (runtime.g) */
    char comm[16];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_call_tree) == 56, "layout of trees");

/* Call sites whose targets are known only at run time. */
#define LAGTRAP_INDIRECT_SITES 16384
#define LAGTRAP_SEEN_TARGETS 4096

struct lagtrap_indirect_site {
    struct lagtrap_argument target;
    __u32 function; /* that contains the call */
    __u32 padding;
};

/* Keyed by the called address. */
struct lagtrap_seen {
    __u64 hits;
    __u32 function; /* its first caller */
    __u32 padding;
};

struct lagtrap_call_totals {
    struct lagtrap_trace_limits limits;
    __u64 trees;            /* trees that ended */
    __u64 short_trees;      /* of those: shorter than the minimum */
    __u64 no_room;          /* calls of a target while no tree was free */
    __u64 lost;             /* trees whose number could not be sent */
    __u64 indirect_hits;    /* of watched indirect calls */
    __u64 indirect_cost_ns; /* cost of one; set by user space */
};

#endif
