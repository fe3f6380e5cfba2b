/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Records exchanged by BPF programs and user space: fixed-width structs, explicit padding, sizes
 * checked in both languages. A capture's logs contain them unchanged, so never reuse a number.
 * All time stamps are nanoseconds of CLOCK_MONOTONIC. "pid" is the process (the kernel's tgid),
 * "tid" the thread.
 */
#ifndef LAGTRAP_BPF_RECORDS_H
#define LAGTRAP_BPF_RECORDS_H

#include <linux/types.h>

#ifdef __cplusplus
#define LAGTRAP_STATIC_ASSERT static_assert
#else
#define LAGTRAP_STATIC_ASSERT _Static_assert
#endif

#define LAGTRAP_COMM_BYTES 16
#define LAGTRAP_MAX_STAGES 16  /* per event; further stage hits of a run are only counted */
#define LAGTRAP_MAX_FRAMES 127 /* per stack; the default of kernel.perf_event_max_stack */
#define LAGTRAP_MAX_EVENTS 256 /* armed events */
#define LAGTRAP_HISTOGRAM_BUCKETS 160

/* ---- Records of a capture. Each starts with this header; size_bytes includes it. ---- */

enum lagtrap_record_type {
    LAGTRAP_RECORD_RUN = 1, /* user log: struct lagtrap_run */
    LAGTRAP_RECORD_STACK =
        2, /* user log (user stacks), kernel log (kernel stacks): struct lagtrap_stack */
    LAGTRAP_RECORD_SAMPLE = 3,  /* kernel log: struct lagtrap_sample */
    LAGTRAP_RECORD_SWITCH = 4,  /* kernel log: struct lagtrap_switch */
    LAGTRAP_RECORD_WAKING = 5,  /* kernel log: struct lagtrap_waking */
    LAGTRAP_RECORD_THREAD = 6,  /* rundown log: struct lagtrap_thread, one alive at the start */
    LAGTRAP_RECORD_PROCESS = 7, /* rundown log: struct lagtrap_process and its texts */
    LAGTRAP_RECORD_MAPPING = 8, /* rundown log: struct lagtrap_mapping and its path */
    LAGTRAP_RECORD_FORK = 9,  /* rundown log: struct lagtrap_task_change (new thread or process) */
    LAGTRAP_RECORD_EXIT = 10, /* rundown log: struct lagtrap_task_change */
    LAGTRAP_RECORD_NAME =
        11, /* rundown log: struct lagtrap_name (a thread's name changed, perhaps by exec) */
    LAGTRAP_RECORD_BREACH =
        12, /* event monitor only: struct lagtrap_run of a run at or over its threshold */
    LAGTRAP_RECORD_WAKE = 13, /* event monitor only: header; a deadline is before the next check */
    LAGTRAP_RECORD_WAIT_FILE = 14,      /* kernel log: struct lagtrap_wait_file and its path */
    LAGTRAP_RECORD_RUN_SO_FAR = 15,     /* struct lagtrap_run_so_far */
    LAGTRAP_RECORD_HISTORY_SAMPLE = 18, /* kernel log: struct lagtrap_history_sample */
    LAGTRAP_RECORD_HISTORY_WAIT = 19,   /* kernel log: struct lagtrap_history_wait */
    LAGTRAP_RECORD_STACK_COPY = 20,     /* user log: struct lagtrap_stack_copy and the memory */
    LAGTRAP_RECORD_TRACE_TEXT = 21,     /* user log: struct lagtrap_trace_text */
    LAGTRAP_RECORD_WRITTEN = 22,        /* kernel log: struct lagtrap_written + path */
    LAGTRAP_RECORD_GROUP_MEMORY = 23,   /* kernel log: struct lagtrap_group_memory + path */
    LAGTRAP_RECORD_CONTEXT = 24,        /* kernel log: struct lagtrap_context + attributes */
    LAGTRAP_RECORD_CONTEXT_KEYS = 25,   /* kernel log: struct lagtrap_context_keys + names */
    LAGTRAP_RECORD_DISK_LIMIT = 26,     /* kernel log: struct lagtrap_disk_limit */
    LAGTRAP_RECORD_PYTHON_CODE = 27,    /* kernel log: struct lagtrap_python_code (python.h) */
};

struct lagtrap_record {
    __u32 size_bytes;
    __u16 type; /* enum lagtrap_record_type */
    __u16 cpu;
    __u64 at_ns;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_record) == 16, "layout of records");

struct lagtrap_stage_hit {
    __u64 at_ns;
    __u32 tid;
    __u16 stage; /* index among the event's stages */
    __u16 cpu;
};

enum lagtrap_run_flags {
    LAGTRAP_RUN_OPEN = 1,     /* had not ended when the record was made; end_ns is that time */
    LAGTRAP_RUN_DELAY = 2,    /* longer than its threshold */
    LAGTRAP_RUN_REPORTED = 4, /* its breach was reported at the deadline */
    LAGTRAP_RUN_EARLIER_BEGIN =
        8,                      /* begin_ns came with the marker and is earlier than begin_hit_ns */
    LAGTRAP_RUN_ABANDONED = 16, /* its thread or process is gone, or another begin replaced it */
    LAGTRAP_RUN_OF_GOROUTINE = 32, /* its key is a goroutine */
    LAGTRAP_RUN_IN_GO =
        64, /* in Go: between its markers, its threads may have run other goroutines */
    LAGTRAP_RUN_WITHOUT_STAGES =
        128, /* its stages were not watched all the time, so none are reported */
};

/* What a thread waited for, as far as its system call shows. */
enum lagtrap_wait_class {
    LAGTRAP_WAIT_OTHER = 0,
    LAGTRAP_WAIT_LOCK = 1, /* futex */
    LAGTRAP_WAIT_EVENTS = 2,
    LAGTRAP_WAIT_INPUT = 3, /* read: from a pipe, a terminal, ... */
    LAGTRAP_WAIT_OUTPUT = 4,
    LAGTRAP_WAIT_SOCKET = 5,
    LAGTRAP_WAIT_SLEEP = 6,
    LAGTRAP_WAIT_CHILD = 7,
    LAGTRAP_WAIT_FILE_LOCK = 8,
    LAGTRAP_WAIT_SEMAPHORE = 9,
    LAGTRAP_WAIT_DISK = 10, /* whatever the call: the kernel counts it as waiting for a device */
    LAGTRAP_WAIT_PAGE = 11,
    LAGTRAP_WAIT_STOPPED = 12,
    LAGTRAP_WAIT_CLASSES = 13,
};

/* A breakdown of a thread's time. The parts add up: on_cpu + runnable + blocked of all classes. */
struct lagtrap_time_parts {
    __u64 on_cpu_ns;
    __u64 runnable_ns;
    __u64 throttled_ns; /* part of runnable_ns: its control group was over its CPU quota */
    __u64 blocked_ns[LAGTRAP_WAIT_CLASSES];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_time_parts) == 128, "layout of the parts of time");

/* What ended a wait. */
enum lagtrap_waker {
    LAGTRAP_WAKER_UNKNOWN = 0, /* or the wait continues */
    LAGTRAP_WAKER_THREAD = 1,
    LAGTRAP_WAKER_INTERRUPT = 2, /* a timer or device, whichever thread it interrupted */
    LAGTRAP_WAKER_SOFTIRQ = 3,
};

struct lagtrap_wait {
    __u64 begin_ns;
    __u64 length_ns;
    __u32 wait_class; /* enum lagtrap_wait_class */
    __u32 waker;      /* enum lagtrap_waker */
    __u32 waker_pid;  /* for WAKER_THREAD; otherwise 0 */
    __u32 waker_tid;
    char waker_comm[LAGTRAP_COMM_BYTES]; /* that thread's name, any bytes */
};

#define LAGTRAP_KEPT_WAITS 8

/* What the thread's counts show of a run up to `until_ns`, before the recording saw it. If the
 * thread is not the run's key, only what a thread did between two of its own hits belongs to the
 * run. */
struct lagtrap_run_so_far {
    struct lagtrap_record header; /* at_ns = until_ns */
    __u64 begin_hit_ns;           /* identifies the run, together with event and beginning thread */
    __u64 from_ns; /* the run's last marker hit; its begin if the thread is the key */
    __u64 until_ns;
    __u32 event;
    __u32 begin_tid;
    __u32 tid; /* thread of that last hit, to which `parts` and `waits` belong */
    __u32 wait_count;
    struct lagtrap_time_parts parts;   /* since from_ns */
    struct lagtrap_time_parts earlier; /* before from_ns: of each thread between its own hits */
    struct lagtrap_wait
        waits[LAGTRAP_KEPT_WAITS]; /* the longest, unsorted; one that continues ends at until_ns */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_run_so_far) ==
                          16 + 24 + 16 + 2 * 128 + 48 * LAGTRAP_KEPT_WAITS,
                      "layout of runs so far");

#define LAGTRAP_TRACE_TEXT_BYTES 64 /* a W3C traceparent has 55 */

/* The trace id that a delay's begin marker carried. Untrusted bytes. */
struct lagtrap_trace_text {
    struct lagtrap_record header;
    __u64 begin_hit_ns; /* identifies the run, together with event and beginning thread */
    __u32 event;
    __u32 begin_tid;
    __s32 bytes; /* of text, including the final 0; 0: the marker had none; negative: unreadable */
    __u32 padding;
    char text[LAGTRAP_TRACE_TEXT_BYTES];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_trace_text) == 40 + LAGTRAP_TRACE_TEXT_BYTES,
                      "layout of trace texts");

/* A run. begin_ns is the begin that counts, begin_hit_ns the moment of the begin marker. A
 * record ends after the stages that were hit: its size is that of the fields before them and of
 * stage_count stages. */
struct lagtrap_run {
    struct lagtrap_record header; /* at_ns = end_ns */
    __u64 begin_ns;
    __u64 begin_hit_ns;
    __u64 end_ns;
    __u64 key;   /* 0 if the thread is the key; for a goroutine, its number */
    __u32 event; /* index among the armed events, as in session.json */
    __u32 begin_pid;
    __u32 begin_tid;
    __u32 end_pid;
    __u32 end_tid;
    __u16 begin_cpu;
    __u16 end_cpu;
    __u8 flags; /* enum lagtrap_run_flags */
    __u8 depth; /* 0 for the outermost of nested runs */
    __u8 stage_count;
    __u8 stages_lost;
    __u32 begin_party;             /* of the process that began it: bpf/party.h */
    char comm[LAGTRAP_COMM_BYTES]; /* name of the beginning thread, any bytes; empty if another
                                      thread ended the run */
    struct lagtrap_stage_hit stages[LAGTRAP_MAX_STAGES];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_run) == 16 + 32 + 32 + 16 + 16 * LAGTRAP_MAX_STAGES,
                      "layout of runs");

enum lagtrap_stack_kind { LAGTRAP_STACK_KERNEL = 0, LAGTRAP_STACK_USER = 1 };

/* Why a walk of a user stack ended; reported with the quality of the recording. */
enum lagtrap_stack_end {
    LAGTRAP_STACK_END_UNKNOWN = 0,       /* the kernel's own walk does not tell */
    LAGTRAP_STACK_END_COMPLETE = 1,      /* the thread's outermost frame was reached */
    LAGTRAP_STACK_END_TOO_DEEP = 2,      /* more than LAGTRAP_MAX_FRAMES frames */
    LAGTRAP_STACK_END_BAD_ADDRESS = 3,   /* the stack's memory could not be read */
    LAGTRAP_STACK_END_NO_PROCESS = 4,    /* the process's mappings are not known yet */
    LAGTRAP_STACK_END_NO_MAPPING = 5,    /* the frame's address is in no known mapping */
    LAGTRAP_STACK_END_NO_TABLE = 6,      /* the module's table is not built yet, or could not be */
    LAGTRAP_STACK_END_OUT_OF_BUDGET = 7, /* there was no memory for the module's table */
    LAGTRAP_STACK_END_GAP = 8,           /* the module has no unwind information there */
    LAGTRAP_STACK_END_UNSUPPORTED = 9,   /* the table cannot express the unwind information */
    LAGTRAP_STACK_END_NO_PROGRESS = 10,  /* the caller's frame was not above the previous one */
    LAGTRAP_STACK_END_32_BIT = 11,       /* the thread runs 32-bit code */
    LAGTRAP_STACK_END_COPY_ENDED =
        12,                  /* walked by the merge: the stack continues beyond the copied part */
    LAGTRAP_STACK_ENDS = 13, /* number of values */
};

/* A call stack, written once per capture and referred to by its id. Innermost frame first. */
struct lagtrap_stack {
    struct lagtrap_record header;
    __u64 stack_id; /* hash of kind, pid (user stacks) and frames; never 0 */
    __u32 pid;      /* whose addresses these are; 0 for kernel stacks */
    __u16 frame_count;
    __u8 kind;      /* enum lagtrap_stack_kind */
    __u8 end;       /* enum lagtrap_stack_end, | LAGTRAP_STACK_BY_FRAME_POINTER */
    __u64 frames[]; /* frame_count addresses, or Python functions (python.h) */
};
#define LAGTRAP_STACK_BY_FRAME_POINTER \
    0x80 /* some frames were found by frame pointers: probable, not certain */
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_stack) == 32, "layout of stacks");

#define LAGTRAP_COPIED_STACK_BYTES 16384
#define LAGTRAP_COPIED_RETURNS 8

/* A return address that a return probe replaced. */
struct lagtrap_replaced_return {
    __u64 slot; /* where it was */
    __u64 address;
};

enum lagtrap_copy_known {
    LAGTRAP_COPY_AFTER_CALL =
        1, /* pc is a return address, or in a system call: look up the instruction before it */
    LAGTRAP_COPY_HAS_REGISTERS = 2,
    LAGTRAP_COPY_HAS_RBX = 4,
};

/* A program's memory: the stack from the last frame of stack `inner_id` on. Samples and switches
 * refer to it by `stack_id`. Only the merge reads it; it is deleted with the capture. */
struct lagtrap_stack_copy {
    struct lagtrap_record header;
    __u64 stack_id;    /* never 0; unique to this copy */
    __u64 inner_id;    /* of the lagtrap_stack with the frames so far, the last of which is at pc */
    __u64 copied_from; /* address of the first copied byte: sp or slightly below */
    __u64 pc;          /* of that frame, like the next three */
    __u64 sp;
    __u64 bp;            /* ~0: unknown */
    __u64 rbx;           /* if LAGTRAP_COPY_HAS_RBX */
    __u64 registers[21]; /* struct pt_regs; if LAGTRAP_COPY_HAS_REGISTERS */
    struct lagtrap_replaced_return returns[LAGTRAP_COPIED_RETURNS]; /* innermost first */
    __u32 pid;
    __u32 copied_bytes; /* after the struct; up to LAGTRAP_COPIED_STACK_BYTES */
    __u8 known;         /* enum lagtrap_copy_known */
    __u8 return_count;
    __u8 end; /* of stack `inner_id` */
    __u8 padding_bytes;
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_stack_copy) ==
                          72 + 21 * 8 + 16 * LAGTRAP_COPIED_RETURNS + 16,
                      "layout of copies of stacks");

/* A tick of the sampler on one CPU. A stack id of 0 means no stack. */
struct lagtrap_sample {
    struct lagtrap_record header;
    __u64 kernel_stack_id;
    __u64 user_stack_id;
    __u32 pid;
    __u32 tid;       /* 0: the idle thread (not recorded) */
    __u32 in_kernel; /* 1 if the CPU ran kernel code */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_sample) == 48, "layout of samples");

enum lagtrap_switch_flags {
    LAGTRAP_SWITCH_PREV_THROTTLED =
        1, /* the previous thread's control group was over its CPU quota */
    LAGTRAP_SWITCH_CONCLUDED =
        2, /* inferred, not reported by the kernel; how the previous thread stopped is unknown */
    LAGTRAP_SWITCH_PREV_YIELDED =
        4, /* the previous thread was in sched_yield; only some of these have a stack */
};

/* A context switch on header.cpu; the stacks are those at which the previous thread stopped. The
 * record ends before `wait_object` if that is unknown, and before `throttled_from_ns` if in
 * addition the next thread's control group was not throttled on this CPU. */
struct lagtrap_switch {
    struct lagtrap_record header;
    __u64 kernel_stack_id;
    __u64 user_stack_id;
    __u32 prev_pid;
    __u32 prev_tid;
    __u32 prev_priority; /* the kernel's: 0 to 139, 120 is nice 0 */
    __u32 prev_state;    /* the tracepoint's: 0 runnable (preempted), 1 S, 2 D, ... */
    __u32 next_pid;
    __u32 next_tid;
    __u32 next_priority;
    __u8 prev_policy; /* SCHED_NORMAL and others of linux/sched.h */
    __u8 next_policy;
    __u8 flags; /* enum lagtrap_switch_flags */
    __u8 padding;
    __u64 throttled_from_ns; /* the last time its group was throttled, perhaps long ago; 0: never */
    __u64 throttled_to_ns;
    __u64 wait_object; /* what the previous thread waits for; equal for threads that wait for one
                          lock; 0: unknown */
    __u32 lock_owner;  /* thread that has the lock, according to the program's memory; 0: unknown */
    __u32 padding_2;
};
#define LAGTRAP_SWITCH_LEAST_BYTES 64
#define LAGTRAP_SWITCH_THROTTLED_BYTES 80
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_switch) == LAGTRAP_SWITCH_THROTTLED_BYTES + 16,
                      "layout of switches");

/* What made a thread runnable. */
enum lagtrap_wake_cause {
    LAGTRAP_WAKE_UNKNOWN = 0, /* in old records, or if the kernel does not tell */
    LAGTRAP_WAKE_THREAD = 1,  /* the waker, by its own action */
    LAGTRAP_WAKE_TIMEOUT = 2, /* the timer that the wakee had set to end its wait */
    LAGTRAP_WAKE_TIMER = 3,   /* another timer */
    LAGTRAP_WAKE_PACKET = 4,  /* a packet received by the network device `device` */
    LAGTRAP_WAKE_DISK = 5,    /* a request completed by the disk `device` */
    LAGTRAP_WAKE_DEVICE = 6,  /* interrupt `number` of a device, called `device` */
    LAGTRAP_WAKE_INTERRUPT =
        7, /* another interrupt, or a deferred one (softirq) of kind `number` */
    LAGTRAP_WAKE_DELAYED_ACK =
        8, /* a packet of this machine, sent after a delayed ACK of the wakee's side */
    LAGTRAP_WAKE_SIGNAL = 9,  /* a signal of the waker interrupted the wait */
    LAGTRAP_WAKE_KILLED = 10, /* the waker ended the wakee's process or thread */
};

/* The kind of interrupt that ran on the CPU; values of lagtrap_waking.in_interrupt. */
enum lagtrap_interrupt {
    LAGTRAP_INTERRUPT_NONE = 0,
    LAGTRAP_INTERRUPT_HARD = 1,
    LAGTRAP_INTERRUPT_SOFT = 2
};

/* A thread was made runnable while the waker ran on header.cpu. With causes THREAD, SIGNAL and
 * KILLED, the record ends before `sender_pid`. */
struct lagtrap_waking {
    struct lagtrap_record header;
    __u32 waker_pid; /* the thread on the CPU: the cause, or only interrupted by it */
    __u32 waker_tid;
    __u32 wakee_pid;
    __u32 wakee_tid;
    __u32 wakee_priority;
    __u32 target_cpu;
    __u32 in_interrupt; /* enum lagtrap_interrupt; with cause UNKNOWN, 0 may be an interrupt too */
    __u32 cause;        /* enum lagtrap_wake_cause */
    __u32 sender_pid;   /* PACKET: the thread of this machine that sent it; 0: unknown, or from
                           another machine */
    __u32 sender_tid;
    __u32 number;
    __u32 padding;
    char device[LAGTRAP_COMM_BYTES]; /* name, any bytes; empty if unknown */
};
#define LAGTRAP_WAKING_LEAST_BYTES 48
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_waking) == LAGTRAP_WAKING_LEAST_BYTES + 32,
                      "layout of wakings");

/* How a file relates to a wait. */
enum lagtrap_wait_file_kind {
    LAGTRAP_FILE_OF_CALL = 1,  /* the thread's system call operates on it */
    LAGTRAP_FILE_OF_FAULT = 2, /* the thread touched a page of it that is not in memory */
    LAGTRAP_FILE_LOCK = 3,     /* the thread waits for a lock on it */
    LAGTRAP_FILE_REFUSED =
        4, /* a lock on it was just refused to the thread, which now waits for something else */
    /* Sockets: followed by a struct lagtrap_peer or the path of a local socket, instead of
     * names. */
    LAGTRAP_FILE_PEER = 5,          /* connected */
    LAGTRAP_FILE_CONNECTING = 6,    /* connecting, without an answer yet */
    LAGTRAP_FILE_DATAGRAM_PEER = 7, /* UDP and similar */
    LAGTRAP_FILE_LOCAL_PEER = 8,
    LAGTRAP_FILE_SYN_REPEATED = 9,     /* of no thread: a SYN to this peer was sent again */
    LAGTRAP_FILE_CONNECT_REFUSED = 10, /* not a wait: the peer refused the thread's connection */
    /* Not waits either: the process holder_pid has the other end of the socket, or listens on it.
     */
    LAGTRAP_FILE_OWNER = 11,
    LAGTRAP_FILE_LISTENER = 12,
    LAGTRAP_FILE_FULL_LISTENER =
        13,                 /* its accept queue has no room, or it has dropped connections */
    LAGTRAP_FILE_PIPE = 14, /* a wait again: for the other end of this pipe */
    LAGTRAP_FILE_NONE = 15, /* poll or select without files, which is a sleep */
};

/* The other end of a socket. */
struct lagtrap_peer {
    __u8 address[16]; /* in network byte order; for AF_INET, the first four bytes */
    __u16 port;
    __u16 family; /* AF_INET or AF_INET6 */
    __u16 protocol;
    __u16 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_peer) == 24, "layout of peers");

#define LAGTRAP_PATH_BYTES 512

/* What a thread waits for, at its switch (header.at_ns), or slightly later if it slept when the
 * recording began. The first time a capture refers to a file, the path follows the struct: its
 * names from the last to the first, each with a '\0'. */
struct lagtrap_wait_file {
    struct lagtrap_record header;
    __u64 file; /* identifies the file, or the socket's connection, within the capture; never 0 */
    __u32 pid;
    __u32 tid;
    __u32 holder_pid;  /* LOCK, REFUSED: a process with a conflicting lock, 0 if unknown; OWNER,
                          LISTENER: that process */
    __u32 queue_depth; /* requests that the disk has received but not completed */
    __u16 path_bytes;  /* up to LAGTRAP_PATH_BYTES; 0 if written before */
    __u8 kind;         /* enum lagtrap_wait_file_kind */
    __u8 padding[5];
    char disk[LAGTRAP_COMM_BYTES]; /* name; empty if the file system is not on a disk */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_wait_file) == 64, "layout of files of waits");

/* Whose data a disk writes. Of a file: how much of it the disk has written since the recording
 * began, with its names after the struct as those of lagtrap_wait_file, up to the root of its file
 * system. Of a process: that it has such a file open, or, with file 0, how much it wrote in its
 * life, which has ended. */
struct lagtrap_written {
    struct lagtrap_record header;
    __u64 file;
    __u64 bytes;    /* of a process that has the file open: 0 */
    __u64 ended_ns; /* of a process that has ended */
    __u32 pid;      /* 0: of a file */
    __u16 path_bytes;
    __u16 padding;
    char name[LAGTRAP_COMM_BYTES]; /* of the process that has ended, or of the disk; any bytes */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_written) == 64, "layout of what was written");

#define LAGTRAP_CONTEXT_ATTRIBUTE_BYTES 612

/* What a thread works for from now on, as its program publishes it (OpenTelemetry's OTEP 4947); not
 * written again while nothing changes. After the struct, up to LAGTRAP_CONTEXT_ATTRIBUTE_BYTES of
 * its attributes, as in the program's memory. */
struct lagtrap_context {
    struct lagtrap_record header;
    __u32 pid;
    __u32 tid;
    __u8 trace_id[16];
    __u8 span_id[8]; /* all 0: for nothing */
    __u16 attribute_bytes;
    __u8 padding[6];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_context) == 56, "layout of contexts");

/* The names of a process's attributes, by number, each with a '\0' (text_bytes in all); empty: not
 * wanted. */
struct lagtrap_context_keys {
    struct lagtrap_record header;
    __u32 pid;
    __u32 text_bytes;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_context_keys) == 24, "layout of names of attributes");

/* The control group around a process that is nearest to its memory limit, as the recording began.
 * After the struct its path (path_bytes, no '\0'). */
struct lagtrap_group_memory {
    struct lagtrap_record header;
    __u64 limit_bytes;
    __u64 used_bytes;
    __u64 file_bytes; /* of these: pages of files that are cached */
    __u64 anonymous_bytes;
    __u64 shared_bytes; /* tmpfs and shared memory */
    __u64 filler_bytes; /* that the process filler_pid has read and written, or has in memory,
                           whichever is the larger part */
    __u32 pid;
    __u32 filler_pid; /* the one of the group that has most of that; 0: not known */
    __u16 path_bytes;
    __u8 padding[6];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_group_memory) == 80, "layout of the memory of groups");

/* From now on, a thread waits for a disk while its control group is at a limit for it. */
struct lagtrap_disk_limit {
    struct lagtrap_record header;
    __u64 bytes_per_s, operations_per_s; /* 0: not this limit */
    __u32 pid, tid;
    char disk[LAGTRAP_COMM_BYTES];
    char group[64]; /* the last part of its path, perhaps cut */
    __u8 writes;    /* 1: the limit is for writing; 0: for reading */
    __u8 padding[7];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_disk_limit) == 128, "layout of limits of disks");

/* History from before the recording: a thread found on a CPU. */
struct lagtrap_history_sample {
    struct lagtrap_record header;
    __u64 user_stack_id;
    __u32 pid;
    __u32 tid;
    char comm[LAGTRAP_COMM_BYTES];    /* the thread's name */
    char process[LAGTRAP_COMM_BYTES]; /* its process's name */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_history_sample) == 64,
                      "layout of samples of the history");

/* History from before the recording: a wait that ended, of a thread in a run or waiting for a
 * disk. Stacks not walked are 0. */
struct lagtrap_history_wait {
    struct lagtrap_record header; /* at_ns: its end */
    __u64 begin_ns;
    __u64 kernel_stack_id;
    __u64 user_stack_id;
    __u64 waker_user_stack_id;
    __u32 pid;
    __u32 tid;
    __u32 waker_pid; /* the thread on the CPU */
    __u32 waker_tid;
    __u32 by_interrupt; /* 1: that thread was only interrupted by what ended the wait */
    __u32 in_run;       /* 1: the thread was in a run; 0: it waited for a disk */
    char comm[LAGTRAP_COMM_BYTES];
    char process[LAGTRAP_COMM_BYTES];
    char waker[LAGTRAP_COMM_BYTES];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_history_wait) == 120, "layout of waits of the history");

/* A thread alive when the capture began, with the stacks at which it slept (0 if it ran). */
struct lagtrap_thread {
    struct lagtrap_record header;
    __u64 kernel_stack_id;
    __u64 user_stack_id;
    __u64 started_ns; /* CLOCK_BOOTTIME */
    __u32 pid;
    __u32 tid;
    __u32 parent_pid;
    __u32 uid;
    __u32 state; /* as prev_state; 0: running or runnable */
    __u32 is_kernel_thread;
    char comm[LAGTRAP_COMM_BYTES];
    __u64 wait_object; /* as in struct lagtrap_switch, as the next; older records end before one of
                          them */
    __u32 lock_owner;
    __u32 padding;
};
#define LAGTRAP_THREAD_LEAST_BYTES 80
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_thread) == LAGTRAP_THREAD_LEAST_BYTES + 16,
                      "layout of threads");

/* A process, followed by texts separated by '\0': path of its program, command line (arguments
 * separated by spaces), path of its control group, and, if it was started by another name of the
 * same file, that path. */
struct lagtrap_process {
    struct lagtrap_record header;
    __u32 pid;
    __u32 parent_pid;
    __u32 uid;
    __u32 text_bytes; /* all texts, after the struct */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_process) == 32, "layout of processes");

/* An executable mapping, followed by its path (path_bytes, without '\0'). */
struct lagtrap_mapping {
    struct lagtrap_record header; /* at_ns: when it was created, or the start of the capture */
    __u64 start;
    __u64 length;
    __u64 file_offset;
    __u64 device; /* 0 if only the build id is known */
    __u64 inode;
    __u32 pid;
    __u16 path_bytes;
    __u8 build_id_bytes; /* 0 to 20 */
    __u8 padding;
    __u8 build_id[24];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_mapping) == 88, "layout of mappings");

struct lagtrap_task_change {
    struct lagtrap_record header;
    __u32 pid;
    __u32 tid;
    __u32 parent_pid;
    __u32 parent_tid;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_task_change) == 32, "layout of task changes");

struct lagtrap_name {
    struct lagtrap_record header;
    __u32 pid;
    __u32 tid;
    __u32 by_exec; /* 1: the process started a new program; its previous mappings are gone */
    __u32 padding;
    char comm[LAGTRAP_COMM_BYTES];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_name) == 48, "layout of names");

#endif
