/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Shared by objects.bpf.c and the daemon: objects of one process, from the calls that create,
 * use and release them.
 *
 * A number identifies an object: its address, or a value returned by a library. A thread's open
 * calls are in its task storage, living objects in a hash, so that counts stay correct even if
 * the daemon falls behind.
 */
#ifndef LAGTRAP_BPF_OBJECTS_H
#define LAGTRAP_BPF_OBJECTS_H

#include "bpf/event_monitor.h"
#include "bpf/traced_functions.h"

#define LAGTRAP_OBJECT_FUNCTIONS 2048
#define LAGTRAP_OBJECT_CLASSES 256
#define LAGTRAP_OBJECT_DEPTH 64 /* open calls tracked per thread; a power of two */
#define LAGTRAP_OBJECTS_ALIVE 65536
#define LAGTRAP_OBJECTS_RELEASED 16384 /* released objects remembered */
#define LAGTRAP_OBJECT_STACKS 4096     /* distinct stacks of creations */
#define LAGTRAP_OBJECT_TEXT_BYTES 64
#define LAGTRAP_OBJECT_SUCCESSES 4
#define LAGTRAP_OBJECT_EXCEPTS 4
#define LAGTRAP_OBJECT_RING_BYTES (2 << 20)

enum lagtrap_object_role {
    LAGTRAP_OBJECT_CREATE = 1,
    LAGTRAP_OBJECT_USE = 2,
    LAGTRAP_OBJECT_RELEASE = 3,
    LAGTRAP_OBJECT_MESSAGE = 4, /* a function that returns the text of an error */
};

enum lagtrap_object_failure {
    LAGTRAP_FAILS_NEVER = 0, /* its result never shows failure */
    LAGTRAP_FAILS_NEGATIVE = 1,
    LAGTRAP_FAILS_NULL = 2,
    LAGTRAP_FAILS_NONZERO = 3,
    LAGTRAP_FAILS_NOT_POSITIVE = 4,
    LAGTRAP_FAILS_MINUS_ONE = 5,
};

#define LAGTRAP_FROM_RESULT \
    0 /* where a value is: this, or a register number (usdt_argument.bpf.h) */
#define LAGTRAP_FROM_NOWHERE 0xff

/* Per function; mapped by user space. */
struct lagtrap_object_function {
    struct lagtrap_probed_function probes;
    __u64 calls; /* calls that ended */
    __u64 failures;
    __u64 elapsed_ns; /* of all calls, without probes */
    /* Set by user space: */
    __u64 inner_begin; /* calls from code in this range are internal to the library and ignored */
    __u64 inner_end;
    __s64 success[LAGTRAP_OBJECT_SUCCESSES]; /* results that do not mean failure */
    __u32 rule;
    __u32 class_number;
    __u8 role;          /* enum lagtrap_object_role */
    __u8 object_from;   /* LAGTRAP_FROM_... or a register */
    __u8 object_behind; /* the value points to where the object's number is after the call */
    __u8 failure;       /* enum lagtrap_object_failure */
    __u8 successes;
    __u8 title_from; /* the argument with the title of a created object */
    __u8 is_method;  /* C++ method: a hidden argument for the result may precede the object */
    __u8 reused; /* numbers come from a pool that others use too, so an unknown one is not an error
                  */
    __u8 except[LAGTRAP_OBJECT_EXCEPTS]; /* errno values of calls without result that do not count
                                            as failed; 0: none */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_object_function) == 128, "layout of functions");

/* Per class; mapped likewise. */
struct lagtrap_object_class {
    __u64 created;
    __u64 released;
    __u64 failures; /* of calls, including creations */
    __u64 released_twice;
    __u64 used_after;   /* calls on released objects */
    __u64 unknown;      /* calls on objects whose creation was not seen */
    __u64 replaced;     /* created with the number of a living object, whose release was not seen */
    __u64 not_followed; /* created when there was no room */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_object_class) == 64, "layout of classes");

struct lagtrap_object_key {
    __u64 object;
    __u32 rule; /* numbers are unique within a rule */
    __u32 padding;
};

struct lagtrap_object_alive {
    __u64 created_ns; /* when its creation began */
    __u64 caller;     /* return address of the creating call */
    __u64 uses;
    __s64 bytes;    /* net memory taken by its creation */
    __u32 function; /* that created it */
    __u32 class_number;
    __u32 tid;
    __u32 open;         /* being created */
    __u64 stack;        /* of its creation; 0: unknown */
    __u64 shares_stack; /* shared with another creation by the same call */
    char title[LAGTRAP_OBJECT_TEXT_BYTES];
};

/* A stack of creations, keyed by a hash of its frames. */
struct lagtrap_object_stack {
    __u64 objects; /* living or being created */
    __u32 frame_count;
    __u32 end;                        /* enum lagtrap_stack_end (bpf/records.h) */
    __u64 frames[LAGTRAP_MAX_FRAMES]; /* innermost first: the creating function */
};

enum lagtrap_object_state {
    LAGTRAP_OBJECT_UNKNOWN = 0, /* its creation was not seen */
    LAGTRAP_OBJECT_ALIVE = 1,
    LAGTRAP_OBJECT_CREATED = 2,  /* by this call */
    LAGTRAP_OBJECT_RELEASED = 3, /* by this call */
    LAGTRAP_OBJECT_AFTER = 4,    /* it had been released before */
    LAGTRAP_OBJECT_TWICE = 5,    /* likewise, and was released again */
    LAGTRAP_OBJECT_WITHIN = 6,   /* within a call that creates or releases it */
};

/* Sent without a wakeup for creations, releases, failures, calls of at least the minimum, and
 * the callers of all these. */
struct lagtrap_object_call {
    __u64 begin_ns; /* CLOCK_MONOTONIC */
    __u64 end_ns;
    __u64 probes_ns;  /* part of it: its probes and those of calls below it */
    __u64 off_cpu_ns; /* part of it: blocked or waiting for a CPU */
    __u64 object;
    __u64 result;
    __u64 taken_bytes; /* memory taken by the thread meanwhile */
    __u64 given_bytes;
    __s64 resident_pages; /* growth of the whole process meanwhile */
    __u32 allocations;
    __u32 function;
    __u32 tid;
    __s32 error_number; /* errno of a failed call; 0: unknown */
    __u8 state;         /* enum lagtrap_object_state */
    __u8 failed;
    __u8 left;  /* not at an exit of its own */
    __u8 depth; /* number of enclosing open calls */
    __u32 has_texts;
    char comm[16];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_object_call) == 112, "layout of calls");

struct lagtrap_object_call_texts {
    struct lagtrap_object_call call;
    char title[LAGTRAP_OBJECT_TEXT_BYTES];
    char thrown_type[LAGTRAP_OBJECT_TEXT_BYTES]; /* mangled */
    char thrown_text[LAGTRAP_OBJECT_TEXT_BYTES];
};

/* A text that the program was given for an error. */
struct lagtrap_object_message {
    __u64 at_ns;
    __u32 function;
    __u32 tid;
    char text[LAGTRAP_OBJECT_TEXT_BYTES * 2];
};

struct lagtrap_object_totals {
    struct lagtrap_trace_limits limits;
    __s64 room; /* calls that may still be sent, not counting failures; refilled by user space */
    __s64 stack_room;    /* walks still allowed where a stack is known; refilled by user space */
    __u64 memory_is_out; /* set by user space: ends of calls that jump to the allocator are not seen
                          */
    __u64 stacks_lost;   /* map full */
    __u64 sent;
    __u64 not_sent; /* no room or ring full */
    __u64 too_deep;
};

enum lagtrap_memory_kind {
    LAGTRAP_MEMORY_TAKE = 0, /* malloc and others that return the block */
    LAGTRAP_MEMORY_GIVE = 1,
    LAGTRAP_MEMORY_CHANGE = 2, /* realloc */
    LAGTRAP_MEMORY_TAKE_BEHIND =
        3, /* posix_memalign: the first argument points to where the block's address goes */
};
#define LAGTRAP_COOKIE_MEMORY_SHIFT 32 /* the kind; the function's number is in the lower bits */
#define LAGTRAP_COOKIE_MEMORY_MASK 0xff
#define LAGTRAP_COOKIE_SIZE_SHIFT \
    40 /* the register with the requested size (usdt_argument.bpf.h) */
#define LAGTRAP_COOKIE_SIZE_MASK 0xff
#define LAGTRAP_COOKIE_SIZE_TIMES (1ULL << 48) /* multiplied by the second argument (calloc) */
#define LAGTRAP_OBJECT_BLOCKS \
    65536 /* remembered sizes, for an allocator whose blocks do not store them */

#endif
