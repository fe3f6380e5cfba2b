/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Shared by event_monitor.bpf.c and the daemon's event monitor: configuration, the table of open
 * runs, counters.
 *
 * The table of open runs consists of buckets with seven tags each, one cache line per bucket. User
 * space chooses their number, a power of two, before loading. A run's tag is a hash of its event,
 * key and depth. The tag is in the first of two buckets, or in the second if the first was crowded
 * and the second less so. 0 means free. Claiming a slot and ending a run (LAGTRAP_TAG_TAKEN) use
 * compare-and-exchange, so begin, end and the scan by user space need no lock. Slot i of bucket b
 * is element b*8+i.
 */
#ifndef LAGTRAP_BPF_EVENT_MONITOR_H
#define LAGTRAP_BPF_EVENT_MONITOR_H

#include "bpf/records.h"

#define LAGTRAP_BUCKET_TAGS 7  /* runs per bucket */
#define LAGTRAP_BUCKET_SLOTS 8 /* words per bucket, and slots reserved for it */
#define LAGTRAP_CROWDED_TAGS                                            \
    4 /* from here on, a run goes to the emptier one of its two buckets \
       */
#define LAGTRAP_MIN_BUCKETS 1024
#define LAGTRAP_MAX_BUCKETS 65536 /* a tag has 16 bits for each of its two buckets */
#define LAGTRAP_MAX_MARKERS 4096
#define LAGTRAP_RUN_QUEUE_EVENTS 8    /* events whose runs are waits for a CPU */
#define LAGTRAP_TRACEPOINT_PROGRAMS 4 /* markers per tracepoint */
#define LAGTRAP_MAX_DEPTH \
    64 /* nested runs per event and key; also the kernel's limit for return probes */
#define LAGTRAP_NO_ARGUMENT 0xffff
#define LAGTRAP_NEVER_NS (~0ULL)
/* Keys for Go threads that run without a goroutine: this bit and the address of runtime.g. */
#define LAGTRAP_KEY_NO_GOROUTINE (1ULL << 63)
/* Stack pointers of goroutines are normalised as if each stack ended here. */
#define LAGTRAP_GO_STACK_TOP (1ULL << 47)
#define LAGTRAP_TAG_TAKEN \
    2ULL /* tags of runs are odd; this value marks a slot whose run is being ended or dropped */
/* A run open for this multiple of its threshold, and at least this long, may be evicted if no
 * slot is free. */
#define LAGTRAP_STALE_THRESHOLDS 20
#define LAGTRAP_STALE_NS 60000000000ULL

enum lagtrap_marker_role { LAGTRAP_ROLE_BEGIN = 0, LAGTRAP_ROLE_STAGE = 1, LAGTRAP_ROLE_END = 2 };

/* What an end says about its run. */
enum lagtrap_end_meaning {
    LAGTRAP_END_DONE = 0,
    LAGTRAP_END_FAILED = 1,
    LAGTRAP_END_CANCELLED = 2
};

enum lagtrap_nesting {
    LAGTRAP_NESTING_EACH = 0,
    LAGTRAP_NESTING_OUTERMOST = 1,
    LAGTRAP_NESTING_RESTART = 2
};

enum lagtrap_event_flags {
    LAGTRAP_EVENT_KEY_ARGUMENT = 2, /* otherwise the thread is the key */
    LAGTRAP_EVENT_KEY_MACHINE = 4,  /* equal keys in two processes are the same key */
    LAGTRAP_EVENT_SCOPE_PID = 8,
    LAGTRAP_EVENT_SCOPE_UID = 16,
    LAGTRAP_EVENT_SCOPE_PROGRAM = 32, /* by device and inode of the process's program */
    LAGTRAP_EVENT_MATCH_STACK =
        64, /* entry and return of a function: also match the stack pointer */
    LAGTRAP_EVENT_RECORD_RUNS = 128, /* report each run that ends in reported_runs */
    LAGTRAP_EVENT_STACKS = 256,      /* with the call stack at each of its markers */
    LAGTRAP_EVENT_STACK_ORDER =
        512, /* markers of one thread in a program: stack pointers show how runs nest */
    LAGTRAP_EVENT_OFF = 1024, /* only count hits; the probes are about to be detached */
    LAGTRAP_EVENT_KEY_GOROUTINE =
        2048, /* the goroutine is the key: Go functions may change threads during a run */
    LAGTRAP_EVENT_TIMES = 8192,        /* break down the thread's time */
    LAGTRAP_EVENT_SCOPE_GROUP = 16384, /* limited to control groups in scoped_groups */
    LAGTRAP_EVENT_LIMITED = 4096,      /* only count hits of those in limited_parties */
    LAGTRAP_EVENT_COUNTED = 32768, /* with LAGTRAP_EVENT_OFF: add begins in scope to `counted` */
    LAGTRAP_EVENT_WITHOUT_STAGES =
        65536,                         /* its stage markers are not watched, or not all of them */
    LAGTRAP_EVENT_TRACE_TEXT = 131072, /* its begin marker carries a trace id as text */
    LAGTRAP_EVENT_UNRECORDED = 262144, /* its delays begin no recording */
    LAGTRAP_EVENT_SCOPE_DESCENDANTS =
        524288, /* with LAGTRAP_EVENT_SCOPE_PID: also what that process has started */
};

struct lagtrap_event_config {
    __u64 threshold_ns;
    __u64 scope_inode;
    __u32 scope_device; /* kernel's dev_t: major << 20 | minor */
    __u32 scope_pid;
    __u32 scope_uid;
    __u32 flags;   /* enum lagtrap_event_flags */
    __u32 nesting; /* enum lagtrap_nesting */
    __u32 padding;
    __u64
        look_after_ns; /* age at which user space must check an open run; LAGTRAP_NEVER_NS: never */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_event_config) == 48, "layout of event configuration");

/* Key in scoped_groups: processes of this control group (v2) are in the event's scope. */
struct lagtrap_scoped_group {
    __u64 group; /* from bpf_get_current_cgroup_id(): the inode of its folder */
    __u32 event;
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_scoped_group) == 16, "layout of scoped groups");
#define LAGTRAP_SCOPED_GROUPS 16384

struct lagtrap_marker_config {
    __u32 event;
    __u16 role;         /* enum lagtrap_marker_role */
    __u16 stage;        /* for ends: enum lagtrap_end_meaning */
    __u16 key_argument; /* LAGTRAP_NO_ARGUMENT: none; for tracepoints, the field's offset */
    __u8 key_bytes;     /* for tracepoints: size of the field */
    __u8 second_key_bytes;
    __u16 second_key_argument; /* for tracepoints: the second field of the key, or
                                  LAGTRAP_NO_ARGUMENT */
    __u16 begin_time_argument; /* like key_argument */
    __u16 begin_time_bytes;
    __u16 goid_offset;     /* for Go functions: offset of a goroutine's number in runtime.g */
    __u16 go_frame_offset; /* likewise, of a waiting goroutine's frame pointer */
    __u16 trace_argument;  /* for functions: like key_argument */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_marker_config) == 24, "layout of marker configuration");

/* Where a site of a USDT probe has an argument. Registers are numbered as in machine code: rax,
 * rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15. */
#define LAGTRAP_NO_REGISTER 0xff

enum lagtrap_argument_place {
    LAGTRAP_ARGUMENT_NONE = 0, /* its value is 0 */
    LAGTRAP_ARGUMENT_CONSTANT = 1,
    LAGTRAP_ARGUMENT_REGISTER = 2,
    LAGTRAP_ARGUMENT_MEMORY = 3, /* at number + base + (index << scale_shift) */
};

struct lagtrap_argument {
    __s64 number;
    __u8 place; /* enum lagtrap_argument_place */
    __u8 bytes; /* 1, 2, 4 or 8 */
    __u8 is_signed;
    __u8 first_bit;   /* first bit of the register that counts */
    __u8 base;        /* register, or LAGTRAP_NO_REGISTER */
    __u8 index;       /* likewise */
    __u8 scale_shift; /* 0 to 3 */
    __u8 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_argument) == 16, "layout of arguments");

/* The arguments needed at a site. A probe's cookie has the marker's number in its lower half
 * and, if arguments are needed, the number of its struct lagtrap_site in the upper half. */
#define LAGTRAP_MAX_SITES 8192
#define LAGTRAP_COOKIE_SITE_SHIFT 32

struct lagtrap_site {
    struct lagtrap_argument key;
    struct lagtrap_argument begin_time;
    struct lagtrap_argument trace;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_site) == 48, "layout of sites");

/* The check at an instruction that may leave a function, in bits 32 to 38 of its cookie. */
enum lagtrap_exit {
    LAGTRAP_EXIT_ALWAYS = 0, /* 1 to 16: 1 + the condition code of the jump */
    LAGTRAP_EXIT_RCX_ZERO = 17,
    LAGTRAP_EXIT_ECX_ZERO = 18,
    LAGTRAP_EXIT_BY_TARGET = 19, /* indirect jump; the site in bits 41 to 63 describes its target */
    LAGTRAP_EXIT_RETURNED = 20,  /* a kernel return probe: the function has returned */
};
#define LAGTRAP_COOKIE_EXIT_SHIFT 32
#define LAGTRAP_COOKIE_EXIT_MASK 0x7f
#define LAGTRAP_COOKIE_EXIT_SHARED \
    (1ULL << 39) /* the instruction also ends calls of another function */
/* For entries and exits: the call's frame is the key. Fibers alternate on a thread, and may
 * continue in other threads. */
#define LAGTRAP_COOKIE_BY_FRAME (1ULL << 40)
#define LAGTRAP_COOKIE_EXIT_SITE_SHIFT 41
#define LAGTRAP_MAX_EXIT_SITES 4096
#define LAGTRAP_EXIT_RANGES 4

struct lagtrap_exit_range {
    __s32 begin; /* relative to the jump's address; 0, 0: unused */
    __s32 end;
};

struct lagtrap_exit_site {
    struct lagtrap_argument target;
    struct lagtrap_exit_range
        within[LAGTRAP_EXIT_RANGES]; /* targets in one of these stay in the function */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_exit_site) == 48, "layout of exits");

/* The low bits of a bucket's state count the runs that found it crowded and are in their second
 * one. The other bits hold the earliest time at which user space must look at a run in it, rounded
 * up; 0: none. A begin lowers that time. User space clears it before it reads the bucket's slots,
 * so it misses no begin. */
#define LAGTRAP_SPILLED_MASK 0xffffULL

struct lagtrap_bucket {
    __u64 tags[LAGTRAP_BUCKET_TAGS];
    __u64 state;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_bucket) == 64, "a bucket is one cache line");

/* ---- reported_runs: stacks (struct lagtrap_stack), processes, runs with record="runs". ---- */

enum lagtrap_report_type { LAGTRAP_REPORT_PROCESS = 64, LAGTRAP_REPORT_RUN = 65 };

/* Sent at a process's first run. Stacks and processes are sent before the runs that refer to
 * them. If the ring was full, runs may refer to some that were lost. */
struct lagtrap_process_report {
    struct lagtrap_record header;
    __u64 process;    /* identifies process and program; never 0 */
    __u64 started_ns; /* CLOCK_BOOTTIME */
    __u32 pid;
    __u32 uid;
    char comm[LAGTRAP_COMM_BYTES]; /* of the process's leader */
    __u64 program_inode;           /* of its program's file; 0: unknown */
    __u32 program_device;          /* the kernel's: major << 20 | minor */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_process_report) == 72,
                      "layout of reports of processes");

/* The start of a run's report, which consists of struct lagtrap_slot up to the end of its run.
 * Stack ids are 0 if there is no stack. */
struct lagtrap_run_report {
    struct lagtrap_record header; /* size_bytes counts the reported part of the slot */
    __u64 process;                /* at the begin */
    __u64 begin_stack;
    __u64 end_stack;
    __u64 stage_stacks[LAGTRAP_MAX_STAGES];
    __u32 weight; /* number of runs it stands for: itself, and those before it that exceeded the
                     quota */
    __u32 uid;
    __u32 meaning; /* enum lagtrap_end_meaning */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_run_report) == 56 + 8 * LAGTRAP_MAX_STAGES,
                      "layout of reports of runs");

/* Limits how many runs of an event are reported, and counts them. */
#define LAGTRAP_RUN_BURST_NS 1000000000ULL
struct lagtrap_run_quota {
    __u64 interval_ns; /* set by user space: a second / limit per second */
    __u64 next_ns;     /* time up to which reported runs are paid for, one per interval */
    __u64 pending; /* runs that the next reported one will stand for; user space may take them */
    __u64 reported;
    __u64 sampled_away; /* over the limit */
    __u64 ring_full;    /* within the limit, but the ring was full */
    __u64 stacks_lost;
    __u32 generation; /* changed by user space after it forgot the reported stacks */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_run_quota) == 64, "a quota is one cache line");

/* Counts in a slot that only hits of its own run may change: the upper half of the run's tag is
 * stored above the count, so a late hit does not change the count of a slot's next run. */
#define LAGTRAP_OWNED_COUNT_SHIFT 32

/* The lowest bit of a deadline, which is otherwise even: user space has reported the run. The
 * end clears the deadline and user space sets the bit, both atomically, so that exactly one of
 * them reports the delay. */
#define LAGTRAP_DEADLINE_REPORTED 1ULL

/* An open run. deadline_ns is written last and cleared first; a scan skips slots whose deadline
 * is 0. */
struct lagtrap_slot {
    struct lagtrap_run_report report; /* used with LAGTRAP_EVENT_RECORD_RUNS */
    __u64 deadline_ns;
    __u64 stack_pointer; /* at the begin; for functions, at their entry */
    __u64
        return_address; /* LAGTRAP_EVENT_MATCH_STACK: the word there during the call; 0: unknown */
    __u64 site;         /* LAGTRAP_EVENT_STACK_ORDER: address of the begin marker that was hit */
    __u64 open_depth;   /* an owned count; in the outermost run's slot: runs open inside it */
    __u64 stage_next;   /* an owned count */
    __u32 reported;     /* set by user space after the deadline's bit */
    __u32 doubtful;     /* another begin with its key came, perhaps replacing it: being open proves
                           nothing */
    __u64 goroutine;    /* LAGTRAP_EVENT_KEY_GOROUTINE: address of its runtime.g */
    __u32 goid_offset;  /* likewise: from its begin marker */
    __u32 go_frame_offset;  /* likewise */
    __u32 times_generation; /* of the entry of the thread at its last counted hit; 0: its time is
                               not counted */
    __u32 times_tid;        /* that thread */
    __u64 counted_ns;       /* time of that hit; 0: being updated */
    __u64 handed_over_ns;   /* between hits of different threads; 0 if the thread is the key */
    /* What its threads did between their own hits, up to the last counted one. If the thread is
     * the key, written only at the end, for reports. */
    struct lagtrap_time_parts parts;
    struct lagtrap_run
        run; /* next to the fields above, which events without reports use; the report is not */
    struct lagtrap_time_parts
        sums_at_hit; /* that thread's sums at its last counted hit; not reported */
    /* LAGTRAP_EVENT_TRACE_TEXT, as in lagtrap_trace_text: */
    char trace_text[LAGTRAP_TRACE_TEXT_BYTES];
    __s32 trace_text_bytes;
    __u32 by_frame; /* its key is process and stack_pointer */
};

/* An event's markers, by their index in its counters. */
#define LAGTRAP_PLACE_BEGIN 0
#define LAGTRAP_PLACE_END 1
#define LAGTRAP_PLACE_STAGE 2 /* the first; others follow */
#define LAGTRAP_PLACES (LAGTRAP_PLACE_STAGE + LAGTRAP_MAX_STAGES)

struct lagtrap_marker_count {
    __u64 hits;      /* in scope or not; approximate, because not added atomically */
    __u64 unmatched; /* begins without an end; ends and stages without a begin */
    __u64 last_ns;   /* time of the last hit */
};

/* Run time of the program at one in LAGTRAP_COST_EVERY hits of a marker, in buckets of
 * lagtrap_histogram_bucket(). The last bucket holds longer times: the program was preempted. */
#define LAGTRAP_COST_BUCKETS 64
#define LAGTRAP_COST_EVERY 64

/* What took most of a delay's time. */
enum lagtrap_delay_part {
    LAGTRAP_DELAY_ON_CPU = 0,
    LAGTRAP_DELAY_RUNNABLE = 1, /* excluding throttled time */
    LAGTRAP_DELAY_THROTTLED = 2,
    LAGTRAP_DELAY_HANDED_OVER = 3,
    LAGTRAP_DELAY_NOT_KNOWN = 4, /* the time of its threads was not counted */
    LAGTRAP_DELAY_BLOCKED = 5,   /* and following: by enum lagtrap_wait_class */
    LAGTRAP_DELAY_PARTS = 5 + LAGTRAP_WAIT_CLASSES,
};

/* The first parties seen, each plus 1; 0 ends the list. */
#define LAGTRAP_SEEN_PARTIES 15
struct lagtrap_seen_parties {
    __u32 parties[LAGTRAP_SEEN_PARTIES];
    __u32 more; /* 1: there were more */
};

/* Per CPU and event. The number of runs that ended is the sum of the histogram, which excludes
 * failed and cancelled ones. */
struct lagtrap_event_counters {
    __u64 delays;          /* runs that ended over their threshold */
    __u64 reported_delays; /* of those: already reported while open */
    __u64 abandoned;       /* function left without returning, or thread, process or program gone */
    __u64 left;            /* of those: the former, by exception or longjmp */
    __u64 failed;          /* runs that ended at a failure marker */
    __u64 cancelled;       /* runs that ended at a cancellation marker */
    __u64 lost;            /* no slot was free, or evicted for another event's run */
    __u64 expired;         /* open so long that it was evicted for a run of its own event */
    __u64 unended_late;    /* begins without an end, found after the threshold had passed */
    __u64 withdrawn;       /* of those: already reported */
    __u64 too_deep;
    __u64 records_lost; /* recorded runs lost because the ring was full */
    __u64 out_of_scope; /* hits; approximate, like those of markers */
    __u64 limited;      /* likewise, of limited parties */
    __u64 unrecorded;   /* delays without a recording because their user reached the limit */
    __u64 counted;      /* begins while the event was only counted, not timed; exact */
    __u64 texts_lost;   /* trace ids that could not be read, or found the ring full */
    struct lagtrap_seen_parties seen; /* parties that began a run; not counts */
    __u64 timed_ns;                   /* of runs: counted thread time, and its parts */
    __u64 on_cpu_ns;
    __u64 runnable_ns;
    __u64 handed_over_ns; /* between hits of different threads; not in timed_ns */
    __u64 untimed;        /* runs whose thread's entry was taken over by another thread */
    __u64
        delays_mostly[LAGTRAP_DELAY_PARTS]; /* delays that ended, by what took most of their time */
    __u64 stack_ns;                         /* time spent walking stacks at its markers */
    __u64 max_ns;
    __u64 histogram[LAGTRAP_HISTOGRAM_BUCKETS]; /* bucket 4*log2(ns) + next two bits, see
                                                   lagtrap_histogram_bucket() */
    __u64 costs[LAGTRAP_COST_BUCKETS];
    struct lagtrap_marker_count markers[LAGTRAP_PLACES];
};

/* The threads whose time is counted, in sets of four: those that began a run most recently.
 * Thread i of set s is element s*4+i. */
#define LAGTRAP_TIMED_SETS 2048
#define LAGTRAP_TIMED_WAYS 4
#define LAGTRAP_TIMED_THREADS (LAGTRAP_TIMED_SETS * LAGTRAP_TIMED_WAYS)

struct lagtrap_timed_set {
    __u32 tids[LAGTRAP_TIMED_WAYS]; /* 0: free */
};

enum lagtrap_thread_state {
    LAGTRAP_THREAD_ON_CPU = 0,
    LAGTRAP_THREAD_RUNNABLE = 1,
    LAGTRAP_THREAD_THROTTLED = 2, /* runnable, but its control group is over its CPU quota */
    LAGTRAP_THREAD_BLOCKED = 3,
};

struct lagtrap_thread_times {
    __u64 since_ns; /* when the state began; written last */
    __u32 state;    /* enum lagtrap_thread_state */
    __u32 wait_class;
    __u32 generation; /* changes each time another thread takes the entry */
    __u32 open;   /* counted runs of the thread that are open; when it is 0, the next forgets the
                     waits */
    __u32 always; /* 1: count its switches also between its own runs */
    __u32 padding;
    __u64 last_begin_ns;
    __u64 ran_ns;                    /* when it last left a CPU, by the kernel's run time count */
    struct lagtrap_time_parts parts; /* up to since_ns */
    __u64 shortest_kept_ns;          /* the shortest wait kept, once all entries are used */
    struct lagtrap_wait waits[LAGTRAP_KEPT_WAITS];
};

/* Who hit an event: a process or, with pid 0, a whole party (bpf/party.h). */
struct lagtrap_hitter {
    __u32 event;
    __u32 party;
    __u32 pid;
};

/* Hits of a party, sampled: one in LAGTRAP_COST_EVERY. */
struct lagtrap_hits {
    __u64 paired;
    __u64 passed; /* out of scope or limited */
};

#define LAGTRAP_LIMITED_PARTIES 256

/* One page mapped by both sides, by which user space controls the running programs. */
struct lagtrap_watch {
    __u64
        next_look_ns; /* when user space will next check open runs; LAGTRAP_NEVER_NS: not planned */
    __u32 begun_since_look; /* set by a begin, cleared by a check */
    __u32 breach_wanted;    /* 1: report the next delay, which sets it to 0 */
    __u32 recording;        /* 1: write every run that ends to recorded_runs */
    __u32 look_at_all; /* 1: a bucket's time could not be lowered, so look at all; user space sets
                          it to 0 */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_watch) == 24, "layout of the watch");

/* Bucket of a duration: four per power of two, so a bound is at most 25 % off. */
static inline __attribute__((always_inline)) __u32 lagtrap_histogram_bucket(__u64 duration_ns) {
    __u64 value = duration_ns;
    __u32 power = 0;
    __u32 bucket;
    if (value < 4) return (__u32)value;
    if (value >> 32) {
        power += 32;
        value >>= 32;
    }
    if (value >> 16) {
        power += 16;
        value >>= 16;
    }
    if (value >> 8) {
        power += 8;
        value >>= 8;
    }
    if (value >> 4) {
        power += 4;
        value >>= 4;
    }
    if (value >> 2) {
        power += 2;
        value >>= 2;
    }
    if (value >> 1) {
        power += 1;
    }
    bucket = power * 4 + (__u32)((duration_ns >> (power - 2)) & 3);
    return bucket < LAGTRAP_HISTOGRAM_BUCKETS ? bucket : LAGTRAP_HISTOGRAM_BUCKETS - 1;
}

/* The smallest duration of a bucket. Buckets 4 to 7 stay empty: durations below 4 ns have one
 * bucket each. */
static inline __attribute__((always_inline)) __u64 lagtrap_histogram_bucket_start_ns(__u32 bucket) {
    __u32 power = bucket / 4;
    if (bucket < 4) return bucket;
    if (power < 2) return 4;
    return (4ULL + bucket % 4) << (power - 2);
}

#endif
