/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * What listener.bpf.c and the daemon's listener share: configuration, the table of open runs, counters.
 *
 * The table of open runs is cut into buckets of seven tags, one cache line each. A run's tag is a hash of its
 * event, key and depth; it lies in the first of two buckets, or in the second if that was full. A tag of 0 is free; it
 * is claimed with compare-and-exchange, and so is a run that ends (LAGTRAP_TAG_TAKEN), so that begin, end and the scan
 * from user space need no lock. Slot i of bucket b is element b*8+i.
 */
#ifndef LAGTRAP_BPF_LISTENER_H
#define LAGTRAP_BPF_LISTENER_H

#include "bpf/records.h"

#define LAGTRAP_BUCKET_TAGS 7  /* runs of one bucket */
#define LAGTRAP_BUCKET_SLOTS 8 /* words of a bucket, and slots kept for it */
#define LAGTRAP_BUCKETS 1024
#define LAGTRAP_OPEN_SLOTS (LAGTRAP_BUCKETS * LAGTRAP_BUCKET_SLOTS)
#define LAGTRAP_MAX_MARKERS 4096
#define LAGTRAP_RUN_QUEUE_EVENTS 8 /* whose runs are waits for a CPU */
#define LAGTRAP_MAX_DEPTH 64       /* nested runs of one event and key; also the kernel's limit for return probes */
#define LAGTRAP_NO_ARGUMENT 0xffff
#define LAGTRAP_NEVER_NS (~0ULL)
/* Keys of stacks of threads that run Go without a goroutine have this bit and the address of runtime.g. */
#define LAGTRAP_KEY_NO_GOROUTINE (1ULL << 63)
/* Stack pointers of goroutines are counted as if each stack ended here. */
#define LAGTRAP_GO_STACK_TOP (1ULL << 47)
#define LAGTRAP_TAG_TAKEN 2ULL /* tags of runs are odd: this slot's run is being ended or given up by someone */
/* A run that is open this much longer than its threshold, and at least so long, may give way where no slot is free. */
#define LAGTRAP_STALE_THRESHOLDS 20
#define LAGTRAP_STALE_NS 60000000000ULL

enum lagtrap_marker_role { LAGTRAP_ROLE_BEGIN = 0, LAGTRAP_ROLE_STAGE = 1, LAGTRAP_ROLE_END = 2 };

/* What an end says of its run. */
enum lagtrap_end_meaning { LAGTRAP_END_DONE = 0, LAGTRAP_END_FAILED = 1, LAGTRAP_END_CANCELLED = 2 };

enum lagtrap_nesting { LAGTRAP_NESTING_EACH = 0, LAGTRAP_NESTING_OUTERMOST = 1, LAGTRAP_NESTING_RESTART = 2 };

enum lagtrap_event_flags {
    LAGTRAP_EVENT_KEY_ARGUMENT = 2, /* else the thread is the key */
    LAGTRAP_EVENT_KEY_MACHINE = 4,  /* equal keys of two processes are the same key */
    LAGTRAP_EVENT_SCOPE_PID = 8,
    LAGTRAP_EVENT_SCOPE_UID = 16,
    LAGTRAP_EVENT_SCOPE_PROGRAM = 32, /* by device and inode of the process's program */
    LAGTRAP_EVENT_MATCH_STACK = 64,   /* entry and return of a function: paired by the stack pointer too */
    LAGTRAP_EVENT_RECORD_RUNS = 128,  /* each run that ends goes to reported_runs */
    LAGTRAP_EVENT_STACKS = 256,       /* with the call stack of each of its markers */
    LAGTRAP_EVENT_STACK_ORDER = 512, /* markers of one thread in a program: stack pointers tell what lies inside what */
    LAGTRAP_EVENT_OFF = 1024,        /* hits do nothing but count; the probes are about to go */
    LAGTRAP_EVENT_KEY_GOROUTINE = 2048,   /* the goroutine is the key: functions of Go, which change threads in a run */
    LAGTRAP_EVENT_TIMES = 8192,           /* the thread's time is counted, by what it did */
    LAGTRAP_EVENT_SCOPE_GROUP = 16384,    /* control groups in scoped_groups */
    LAGTRAP_EVENT_LIMITED = 4096,         /* hits of those in limited_parties do nothing but count */
    LAGTRAP_EVENT_COUNTED = 32768,        /* with LAGTRAP_EVENT_OFF: begins in scope add to `counted` */
    LAGTRAP_EVENT_WITHOUT_STAGES = 65536, /* the markers of its stages are not watched, or not all of them */
    LAGTRAP_EVENT_TRACE_TEXT = 131072,    /* its begin marker carries the text of a trace's id */
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
    __u64 look_after_ns; /* age at which user space wants to look at a run that is open; LAGTRAP_NEVER_NS: at none */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_event_config) == 48, "layout of event configuration");

/* Key of an entry of scoped_groups: processes of this control group (of version 2) are in the event's scope. */
struct lagtrap_scoped_group {
    __u64 group; /* as bpf_get_current_cgroup_id() has it: the inode of its folder */
    __u32 event;
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_scoped_group) == 16, "layout of scoped groups");
#define LAGTRAP_SCOPED_GROUPS 16384

struct lagtrap_marker_config {
    __u32 event;
    __u16 role;         /* enum lagtrap_marker_role */
    __u16 stage;        /* of ends: enum lagtrap_end_meaning */
    __u16 key_argument; /* LAGTRAP_NO_ARGUMENT: none; for tracepoints the field's offset */
    __u8 key_bytes;     /* tracepoints: size of the field */
    __u8 second_key_bytes;
    __u16 second_key_argument; /* of tracepoints: of the other field that is part of the key, or LAGTRAP_NO_ARGUMENT */
    __u16 begin_time_argument; /* as key_argument */
    __u16 begin_time_bytes;
    __u16 goid_offset;     /* functions of Go: of a goroutine's number in runtime.g */
    __u16 go_frame_offset; /* the same, of the frame pointer of a goroutine that waits */
    __u16 trace_argument;  /* of functions: as key_argument */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_marker_config) == 24, "layout of marker configuration");

/* Where a site of a USDT probe has an argument. Registers are numbered as machine code does: rax, rcx, rdx, rbx, rsp,
 * rbp, rsi, rdi, r8 to r15. */
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
    __u8 first_bit;   /* of the register that counts */
    __u8 base;        /* register, or LAGTRAP_NO_REGISTER */
    __u8 index;       /* the same */
    __u8 scale_shift; /* 0 to 3 */
    __u8 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_argument) == 16, "layout of arguments");

/* The arguments that are wanted at a site. A probe's cookie has the marker's number in its lower half and, where
 * arguments are wanted, the number of its struct lagtrap_site in the upper one. */
#define LAGTRAP_MAX_SITES 8192
#define LAGTRAP_COOKIE_SITE_SHIFT 32

struct lagtrap_site {
    struct lagtrap_argument key;
    struct lagtrap_argument begin_time;
    struct lagtrap_argument trace;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_site) == 48, "layout of sites");

/* What is to be asked at an instruction by which a function may be left, in bits 32 to 38 of its cookie. */
enum lagtrap_exit {
    LAGTRAP_EXIT_ALWAYS = 0, /* 1 to 16: 1 + the condition code of the jump */
    LAGTRAP_EXIT_RCX_ZERO = 17,
    LAGTRAP_EXIT_ECX_ZERO = 18,
    LAGTRAP_EXIT_BY_TARGET = 19, /* the site in bits 41 to 63 says where an indirect jump leads to */
    LAGTRAP_EXIT_RETURNED = 20,  /* a return probe of the kernel: the function has been left */
};
#define LAGTRAP_COOKIE_EXIT_SHIFT 32
#define LAGTRAP_COOKIE_EXIT_MASK 0x7f
#define LAGTRAP_COOKIE_EXIT_SHARED (1ULL << 39) /* the instruction ends calls of another function too */
/* Of entries and exits: the call's frame is the key. Fibers take turns on a thread, and go on in other threads. */
#define LAGTRAP_COOKIE_BY_FRAME (1ULL << 40)
#define LAGTRAP_COOKIE_EXIT_SITE_SHIFT 41
#define LAGTRAP_MAX_EXIT_SITES 4096
#define LAGTRAP_EXIT_RANGES 4

struct lagtrap_exit_range {
    __s32 begin; /* counted from the jump's own address; 0, 0: none */
    __s32 end;
};

struct lagtrap_exit_site {
    struct lagtrap_argument target;
    struct lagtrap_exit_range within[LAGTRAP_EXIT_RANGES]; /* a target in one of these stays in the function */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_exit_site) == 48, "layout of exits");

struct lagtrap_bucket {
    __u64 tags[LAGTRAP_BUCKET_TAGS];
    __u64 spilled; /* runs that found this bucket full and lie in their second one */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_bucket) == 64, "a bucket is one cache line");

/* ---- reported_runs: stacks (struct lagtrap_stack), processes and runs of events with record="runs". ---- */

enum lagtrap_report_type { LAGTRAP_REPORT_PROCESS = 64, LAGTRAP_REPORT_RUN = 65 };

/* A process at its first run. Stacks and processes come before the runs that name them; what found the ring full is
 * named all the same. */
struct lagtrap_process_report {
    struct lagtrap_record header;
    __u64 process;    /* stands for process and program; never 0 */
    __u64 started_ns; /* CLOCK_BOOTTIME */
    __u32 pid;
    __u32 uid;
    char comm[LAGTRAP_COMM_BYTES]; /* of the process */
    __u64 program_inode;           /* of its program's file; 0: not known */
    __u32 program_device;          /* the kernel's: major << 20 | minor */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_process_report) == 72, "layout of reports of processes");

/* The first part of a report of a run, which is a struct lagtrap_slot as far as its run goes. Ids of stacks: 0 where
 * there is none. */
struct lagtrap_run_report {
    struct lagtrap_record header; /* size_bytes counts all of the slot that is told */
    __u64 process;                /* of the begin */
    __u64 begin_stack;
    __u64 end_stack;
    __u64 stage_stacks[LAGTRAP_MAX_STAGES];
    __u32 weight; /* how many runs this one stands for: itself, and those before it that did not pass */
    __u32 uid;
    __u32 meaning; /* enum lagtrap_end_meaning */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_run_report) == 56 + 8 * LAGTRAP_MAX_STAGES, "layout of reports of runs");

/* How many runs of an event are told, and what became of them. */
#define LAGTRAP_RUN_BURST_NS 1000000000ULL
struct lagtrap_run_quota {
    __u64 interval_ns; /* set by user space: a second / runs that pass in it */
    __u64 next_ns;     /* when the runs that passed are paid for, at one each interval */
    __u64 pending;     /* runs that the next to pass will stand for; user space may take them over */
    __u64 reported;
    __u64 sampled_away; /* beyond the limit */
    __u64 ring_full;    /* passed, but found no room */
    __u64 stacks_lost;
    __u32 generation; /* changed by user space when it has forgotten the stacks it was told */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_run_quota) == 64, "a quota is one cache line");

/* Counts in a slot that hits of its run alone may change: the upper half of the run's tag stands above the count, so that a
 * hit that comes late, the slot being another run's, changes nothing. */
#define LAGTRAP_OWNED_COUNT_SHIFT 32

/* The lowest bit of a deadline, which is even: user space has told of the run. The end takes the deadline away and user space sets
 * the bit, each atomically, so that of two who come at once one tells of the delay, and only one. */
#define LAGTRAP_DEADLINE_TOLD 1ULL

/* An open run. deadline_ns is written last and cleared first: a scan skips a slot whose deadline is 0. */
struct lagtrap_slot {
    struct lagtrap_run_report report; /* counts with LAGTRAP_EVENT_RECORD_RUNS */
    __u64 deadline_ns;
    __u64 stack_pointer;    /* at the begin; for functions at their entry */
    __u64 return_address;   /* LAGTRAP_EVENT_MATCH_STACK: what lies there while the call lasts; 0: not known */
    __u64 site;             /* LAGTRAP_EVENT_STACK_ORDER: address of the begin marker that was hit */
    __u64 open_depth;       /* an owned count; in the outermost run's slot: runs open inside it */
    __u64 stage_next;       /* an owned count */
    __u32 reported;         /* set by user space after the bit of the deadline */
    __u32 doubtful;         /* another begin of its key came, perhaps in its place: that it is open proves nothing */
    __u64 goroutine;        /* LAGTRAP_EVENT_KEY_GOROUTINE: address of its runtime.g */
    __u32 goid_offset;      /* the same: as in its begin marker */
    __u32 go_frame_offset;  /* the same */
    __u32 times_generation; /* of the entry of the thread of its last counted hit; 0: its time is not counted */
    __u32 times_tid;        /* that thread */
    __u64 counted_ns;       /* when that hit was; 0: it is being counted */
    __u64 handed_over_ns;   /* between hits of different threads; 0 where the thread is the key */
    /* What its threads did between their own hits, up to the last counted one. Where the thread is the key, this is written at
     * the end alone, for reports. */
    struct lagtrap_time_parts parts;
    struct lagtrap_run run; /* beside the fields above, not the report: all that an event without reports touches */
    struct lagtrap_time_parts sums_at_hit; /* that thread's sums at its last counted hit; not reported */
    /* LAGTRAP_EVENT_TRACE_TEXT, as lagtrap_trace_text has them: */
    char trace_text[LAGTRAP_TRACE_TEXT_BYTES];
    __s32 trace_text_bytes;
    __u32 by_frame; /* its key: its process and stack_pointer */
};

/* The markers of an event, by their place in its counters. */
#define LAGTRAP_PLACE_BEGIN 0
#define LAGTRAP_PLACE_END 1
#define LAGTRAP_PLACE_STAGE 2 /* the first; others follow */
#define LAGTRAP_PLACES (LAGTRAP_PLACE_STAGE + LAGTRAP_MAX_STAGES)

struct lagtrap_marker_count {
    __u64 hits;      /* whoever was in scope; a few short: they are not added atomically */
    __u64 unmatched; /* begins that never saw an end of theirs; ends and stages without a begin */
    __u64 last_ns;   /* the last hit */
};

/* How long the program takes at one of LAGTRAP_COST_EVERY hits of a marker, in buckets of lagtrap_histogram_bucket(); the last
 * has what is longer: a program that was preempted. */
#define LAGTRAP_COST_BUCKETS 64
#define LAGTRAP_COST_EVERY 64

/* Runs begun and ended are the sum of the histogram; those that failed or were cancelled are not in it. */
enum lagtrap_delay_part {
    LAGTRAP_DELAY_ON_CPU = 0,
    LAGTRAP_DELAY_RUNNABLE = 1, /* without the next */
    LAGTRAP_DELAY_THROTTLED = 2,
    LAGTRAP_DELAY_HANDED_OVER = 3,
    LAGTRAP_DELAY_NOT_KNOWN = 4, /* the time of its threads was not counted */
    LAGTRAP_DELAY_BLOCKED = 5,   /* and on: by enum lagtrap_wait_class */
    LAGTRAP_DELAY_PARTS = 5 + LAGTRAP_WAIT_CLASSES,
};

/* The first parties that there were, each with 1 added; 0 where there is no further one. */
#define LAGTRAP_SEEN_PARTIES 15
struct lagtrap_seen_parties {
    __u32 parties[LAGTRAP_SEEN_PARTIES];
    __u32 more; /* 1: others had no room here */
};

struct lagtrap_event_counters {
    __u64 delays;       /* runs that ended over their threshold */
    __u64 told_delays;  /* those of them that had been reported while they were open */
    __u64 abandoned;    /* function left without a return, or thread, process or program gone */
    __u64 left;         /* the former of these: by an exception or longjmp */
    __u64 failed;       /* runs that ended at a marker which says so */
    __u64 cancelled;    /* the same */
    __u64 lost;         /* no slot was free, or the run gave way to another event's */
    __u64 expired;      /* open for so long that it gave way to another of its event */
    __u64 unended_late; /* begins without their end, which was found out after the threshold */
    __u64 withdrawn;    /* those of them that had been reported */
    __u64 too_deep;
    __u64 records_lost; /* runs that found the ring of a recording full */
    __u64 out_of_scope; /* hits, as exact as those of markers */
    __u64 limited;      /* the same, of parties that are limited */
    __u64 unrecorded;   /* delays that began no recording: their user had had his share of them */
    __u64 counted;      /* begins while the event was counted, not timed: exact */
    __u64 texts_lost;   /* texts of trace ids that could not be read, or found the ring of a recording full */
    struct lagtrap_seen_parties seen; /* who has begun a run; no counts */
    __u64 timed_ns;                   /* of runs: the time of threads that was counted, and its parts */
    __u64 on_cpu_ns;
    __u64 runnable_ns;
    __u64 handed_over_ns;                     /* between hits of different threads, beside timed_ns */
    __u64 untimed;                            /* runs whose thread's entry another thread took */
    __u64 delays_mostly[LAGTRAP_DELAY_PARTS]; /* delays that ended, by what took most of their time */
    __u64 stack_ns;                           /* that taking stacks at its markers took */
    __u64 max_ns;
    __u64 histogram[LAGTRAP_HISTOGRAM_BUCKETS]; /* bucket 4*log2(ns) + next two bits, see lagtrap_histogram_bucket() */
    __u64 costs[LAGTRAP_COST_BUCKETS];
    struct lagtrap_marker_count markers[LAGTRAP_PLACES];
};

/* The threads whose time is counted, in sets of four: those that began a run last. Thread i of set s is element s*4+i. */
#define LAGTRAP_TIMED_SETS 2048
#define LAGTRAP_TIMED_WAYS 4
#define LAGTRAP_TIMED_THREADS (LAGTRAP_TIMED_SETS * LAGTRAP_TIMED_WAYS)

struct lagtrap_timed_set {
    __u32 tids[LAGTRAP_TIMED_WAYS]; /* 0: free */
};

enum lagtrap_thread_state {
    LAGTRAP_THREAD_ON_CPU = 0,
    LAGTRAP_THREAD_RUNNABLE = 1,
    LAGTRAP_THREAD_THROTTLED = 2, /* runnable, but for its control group's CPU quota */
    LAGTRAP_THREAD_BLOCKED = 3,
};

struct lagtrap_thread_times {
    __u64 since_ns; /* of the state; written last */
    __u32 state;    /* enum lagtrap_thread_state */
    __u32 wait_class;
    __u32 generation; /* another one each time another thread takes the entry */
    __u32 open;       /* runs of the thread that count; when it is 0, the next forgets the waits */
    __u32 always;     /* 1: its switches count between its own runs too */
    __u32 padding;
    __u64 last_begin_ns;
    __u64 ran_ns;                    /* when it left a CPU last, by the kernel's own count */
    struct lagtrap_time_parts parts; /* up to since_ns */
    __u64 shortest_kept_ns;          /* of the waits, where all are taken */
    struct lagtrap_wait waits[LAGTRAP_KEPT_WAITS];
};

/* Whose hits of an event: one process's, or with pid 0 all of a party's (bpf/party.h). */
struct lagtrap_hitter {
    __u32 event;
    __u32 party;
    __u32 pid;
};

/* Hits of a party at which the cost was looked at, one of LAGTRAP_COST_EVERY. */
struct lagtrap_hits {
    __u64 paired;
    __u64 passed; /* out of scope or limited */
};

#define LAGTRAP_LIMITED_PARTIES 256

/* One page that both sides map: how user space steers the programs while they run. */
struct lagtrap_watch {
    __u64 next_look_ns;     /* when user space will next look at the open runs; LAGTRAP_NEVER_NS: not by itself */
    __u32 begun_since_look; /* set by a begin, cleared by a look */
    __u32 breach_wanted;    /* 1: the next delay is reported, which sets it to 0 */
    __u32 recording;        /* 1: every run that ends goes to recorded_runs */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_watch) == 24, "layout of the watch");

/* Bucket of a duration: four to each power of two, so a bound is at most 25 % off. */
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

/* The smallest duration of a bucket. Buckets 4 to 7 stay empty: durations below 4 ns have one each. */
static inline __attribute__((always_inline)) __u64 lagtrap_histogram_bucket_start_ns(__u32 bucket) {
    __u32 power = bucket / 4;
    if (bucket < 4) return bucket;
    if (power < 2) return 4;
    return (4ULL + bucket % 4) << (power - 2);
}

#endif
