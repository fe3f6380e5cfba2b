/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * What objects.bpf.c and the daemon share: objects of one process, from the calls that create, use and release them.
 *
 * An object is known by a number: its address, or what a library gave for it. A thread's open calls are in its task
 * storage, objects that live in a hash, so that counts hold whatever the daemon is too slow for.
 */
#ifndef LAGTRAP_BPF_OBJECTS_H
#define LAGTRAP_BPF_OBJECTS_H

#include "bpf/listener.h"

#define LAGTRAP_OBJECT_FUNCTIONS 2048
#define LAGTRAP_OBJECT_CLASSES 256
#define LAGTRAP_OBJECT_DEPTH 64 /* open calls of a thread that are known; a power of two */
#define LAGTRAP_OBJECTS_ALIVE 65536
#define LAGTRAP_OBJECTS_RELEASED 16384 /* that are remembered */
#define LAGTRAP_OBJECT_STACKS 4096     /* of creations, that differ */
#define LAGTRAP_OBJECT_TEXT_BYTES 64
#define LAGTRAP_OBJECT_SUCCESSES 4
#define LAGTRAP_OBJECT_EXCEPTS 4
#define LAGTRAP_OBJECT_RING_BYTES (2 << 20)

enum lagtrap_object_role {
    LAGTRAP_OBJECT_CREATE = 1,
    LAGTRAP_OBJECT_USE = 2,
    LAGTRAP_OBJECT_RELEASE = 3,
    LAGTRAP_OBJECT_MESSAGE = 4, /* a function that gives the text of an error */
};

enum lagtrap_object_failure {
    LAGTRAP_FAILS_NEVER = 0, /* by its result */
    LAGTRAP_FAILS_NEGATIVE = 1,
    LAGTRAP_FAILS_NULL = 2,
    LAGTRAP_FAILS_NONZERO = 3,
    LAGTRAP_FAILS_NOT_POSITIVE = 4,
    LAGTRAP_FAILS_MINUS_ONE = 5,
};

#define LAGTRAP_FROM_RESULT 0 /* where a value is: this, or the number of a register (usdt_argument.bpf.h) */
#define LAGTRAP_FROM_NOWHERE 0xff

/* Of one function; in memory that user space has mapped. */
struct lagtrap_object_function {
    __u64 hits; /* of its probes, for what they cost */
    __u64
        inside_ns; /* that the probes of one call take between its two moments; by user space, as all below `elapsed_ns` */
    __u64 around_ns;
    __u64 calls; /* that ended */
    __u64 failures;
    __u64 elapsed_ns;  /* of all calls, without probes */
    __u64 inner_begin; /* calls from code between these are a library's own: they do not cross its boundary */
    __u64 inner_end;
    __s64 success[LAGTRAP_OBJECT_SUCCESSES]; /* results that are none of a failure */
    __u32 rule;
    __u32 class_number;
    __u8 role;          /* enum lagtrap_object_role */
    __u8 object_from;   /* LAGTRAP_FROM_... or a register */
    __u8 object_behind; /* it is there that the object's number will be when the call has ended */
    __u8 failure;       /* enum lagtrap_object_failure */
    __u8 successes;
    __u8 title_from; /* a text that names an object which is created */
    __u8 is_method;  /* of C++: a hidden argument for the result may come before the object */
    __u8 reused;     /* numbers come from a pool that others use too: an unknown one is nobody's mistake */
    __u32 taken_out; /* ends of calls that are open are not seen any more */
    __u8 except[LAGTRAP_OBJECT_EXCEPTS]; /* errno of calls that have no result, and have not failed; 0: none */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_object_function) == 120, "layout of functions");

/* Of one class; the same. */
struct lagtrap_object_class {
    __u64 created;
    __u64 released;
    __u64 failures; /* of calls, creations among them */
    __u64 released_twice;
    __u64 used_after;   /* calls on objects that had been released */
    __u64 unknown;      /* calls on objects that nobody saw created */
    __u64 replaced;     /* created where one lived whose release nobody saw */
    __u64 not_followed; /* created while there was no room for more */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_object_class) == 64, "layout of classes");

struct lagtrap_object_key {
    __u64 object;
    __u32 rule; /* numbers mean something within a rule */
    __u32 padding;
};

struct lagtrap_object_alive {
    __u64 created_ns; /* when its creation began */
    __u64 caller;     /* return address of the call that created it */
    __u64 uses;
    __s64 bytes;    /* taken by its creation, net */
    __u32 function; /* that created it */
    __u32 class_number;
    __u32 tid;
    __u32 open;         /* it is being created */
    __u64 stack;        /* of its creation; 0: not known */
    __u64 shares_stack; /* it is that of another creation by the same call */
    char title[LAGTRAP_OBJECT_TEXT_BYTES];
};

/* A stack of creations, by a hash of its frames. */
struct lagtrap_object_stack {
    __u64 objects; /* that live, or are being created, from here */
    __u32 frame_count;
    __u32 end;                        /* enum lagtrap_stack_end, as bpf/records.h has it */
    __u64 frames[LAGTRAP_MAX_FRAMES]; /* the innermost first: the function that creates */
};

enum lagtrap_object_state {
    LAGTRAP_OBJECT_UNKNOWN = 0, /* nobody saw it created */
    LAGTRAP_OBJECT_ALIVE = 1,
    LAGTRAP_OBJECT_CREATED = 2,  /* by this call */
    LAGTRAP_OBJECT_RELEASED = 3, /* the same */
    LAGTRAP_OBJECT_AFTER = 4,    /* it had been released */
    LAGTRAP_OBJECT_TWICE = 5,    /* the same, and was released again */
    LAGTRAP_OBJECT_WITHIN = 6,   /* within a call that creates or releases it */
};

/* Sent of a call, without waking up who takes it: creations, releases, failures, what took the minimum, and the callers of all these. */
struct lagtrap_object_call {
    __u64 begin_ns; /* CLOCK_MONOTONIC */
    __u64 end_ns;
    __u64 probes_ns;  /* of these, taken by probes of its own and of calls below it */
    __u64 off_cpu_ns; /* of these, blocked or waiting for a CPU */
    __u64 object;
    __u64 result;
    __u64 taken_bytes; /* of memory, by the thread meanwhile */
    __u64 given_bytes;
    __s64 resident_pages; /* by which the process grew meanwhile, whoever it was */
    __u32 allocations;
    __u32 function;
    __u32 tid;
    __s32 error_number; /* errno of a call that failed; 0: not known */
    __u8 state;         /* enum lagtrap_object_state */
    __u8 failed;
    __u8 left;  /* by no instruction of its own */
    __u8 depth; /* open calls that it lies in */
    __u32 has_texts;
    char comm[16];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_object_call) == 112, "layout of calls");

struct lagtrap_object_call_texts {
    struct lagtrap_object_call call;
    char title[LAGTRAP_OBJECT_TEXT_BYTES];
    char thrown_type[LAGTRAP_OBJECT_TEXT_BYTES]; /* as the compiler writes it */
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
    __u64 least_ns;           /* shorter uses are not sent; by user space */
    __u64 relinking_until_ns; /* until then a begin may be seen twice; by user space */
    __s64 room;               /* calls that may be sent yet, but for failures; by user space, which fills it */
    __s64 stack_room;         /* stacks that may be walked yet where one is known; the same */
    __u64 memory_is_out;      /* nobody sees the end of what jumps to the allocator; by user space */
    __u64 stacks_lost;        /* for want of room */
    __u64 sent;
    __u64 not_sent; /* for want of room */
    __u64 too_deep;
};

enum lagtrap_memory_kind {
    LAGTRAP_MEMORY_TAKE = 0, /* malloc and others that give the block */
    LAGTRAP_MEMORY_GIVE = 1,
    LAGTRAP_MEMORY_CHANGE = 2,      /* realloc */
    LAGTRAP_MEMORY_TAKE_BEHIND = 3, /* posix_memalign: the block is where the first argument points */
};
#define LAGTRAP_COOKIE_MEMORY_SHIFT 32 /* the kind; below it is the function's number */
#define LAGTRAP_COOKIE_MEMORY_MASK 0xff
#define LAGTRAP_COOKIE_SIZE_SHIFT 40 /* the register with the size that is asked for (usdt_argument.bpf.h) */
#define LAGTRAP_COOKIE_SIZE_MASK 0xff
#define LAGTRAP_COOKIE_SIZE_TIMES (1ULL << 48) /* times the second argument (calloc) */
#define LAGTRAP_OBJECT_BLOCKS 65536            /* of an allocator that does not tell sizes, which are remembered */

#endif
