/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Records the whole machine: samples of every CPU, context switches, wakeups, and the stacks of
 * threads that sleep when a capture begins. A stack is written once; records refer to it by a
 * hash.
 */
#include "bpf/recorder.h"

#define LAGTRAP_WALK_PYTHON
#include "bpf/kernel.bpf.h"
#include "bpf/lock_owner.bpf.h"
#include "bpf/stack_copy.bpf.h"
#include "bpf/stack_id.h"
#include "bpf/throttling.bpf.h"
#include "bpf/user_stack.bpf.h"
#include "bpf/wait_file.bpf.h"
#include "bpf/wait_object.bpf.h"
#include "bpf/wake_cause.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang diagnostic push
#pragma clang diagnostic ignored \
    "-Wgnu-variable-sized-type-not-at-end" /* these are the record's frames[] */
struct stack_scratch {
    struct lagtrap_stack record;
    __u64 frames[LAGTRAP_MAX_FRAMES];
    struct user_walk walk;
};
#pragma clang diagnostic pop

/* One per kind of program, because a sample may interrupt another one. The iterator has its own:
 * it is preemptible and may sleep. */
enum scratch_user { SCRATCH_SAMPLE, SCRATCH_SWITCH, SCRATCH_KINDS };

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, SCRATCH_KINDS);
    __type(key, __u32);
    __type(value, struct stack_scratch);
} scratch SEC(".maps");

/* For the iterator, which one daemon thread runs at a time. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct stack_scratch);
} iterator_scratch SEC(".maps");

/* The same. On the stack it would leave older kernels no room for the walks. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct lagtrap_thread);
} iterator_thread SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, LAGTRAP_SEEN_STACKS);
    __type(key, __u64);
    __type(value, __u32); /* number of the capture in which it was written */
} seen_stacks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 8 * 1024 * 1024); /* set before loading, depending on the number of CPUs */
} records SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct lagtrap_capture_counters);
} capture_counters SEC(".maps");

/* The last recorded switch of a CPU. */
struct last_switch {
    __u64 at_ns;
    __u64 yield_stack_ns; /* when a yield's stack was last taken */
    __u32 capture;
    __u32 next_pid;
    __u32 next_tid;
    __u32 next_priority;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct last_switch);
} last_switches SEC(".maps");

volatile struct lagtrap_recording recording = {};

#include "bpf/socket_owners.bpf.h"
#include "bpf/written_files.bpf.h"

static __always_inline struct lagtrap_capture_counters* my_counters(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&capture_counters, &zero);
}

static __always_inline void fill_header(struct lagtrap_record* header, __u16 type, __u32 size,
                                        __u64 now_ns) {
    header->size_bytes = size;
    header->type = type;
    header->cpu = bpf_get_smp_processor_id();
    header->at_ns = now_ns;
}

/* Writes the stack in `stack` unless this capture already has it. Returns its id, or 0 if it is
 * empty or was lost. Global, so that the verifier checks it once rather than on every path. */
__noinline __u64 note_stack(struct stack_scratch* stack, __u32 pid, __u32 kind_and_end,
                            __u32 frame_count, __u64 now_ns) {
    if (!stack || frame_count == 0 || frame_count > LAGTRAP_MAX_FRAMES) return 0;
    __u64 id = lagtrap_stack_id((__u64)pid << 1 | (kind_and_end & 1), stack->frames, frame_count);
    __u32 capture = recording.capture;
    __u32* seen_in = bpf_map_lookup_elem(&seen_stacks, &id);
    if (seen_in && *seen_in == capture) {
        stack->walk.python.is_named = 1;
        return id;
    }

    __u64 size = sizeof(struct lagtrap_stack) + frame_count * sizeof(__u64);
    barrier_var(size); /* otherwise the compiler drops this check, without which 6.1 and 6.12 refuse
                          on_thread */
    if (size > __builtin_offsetof(struct stack_scratch, walk)) return 0;
    fill_header(&stack->record.header, LAGTRAP_RECORD_STACK, size, now_ns);
    stack->record.stack_id = id;
    stack->record.pid = pid;
    stack->record.frame_count = frame_count;
    stack->record.kind = kind_and_end & 1;
    stack->record.end = kind_and_end >> 1;
    struct lagtrap_capture_counters* counters = my_counters();
    if (bpf_ringbuf_output(&records, stack, size, BPF_RB_NO_WAKEUP)) {
        if (counters) __sync_fetch_and_add(&counters->stacks_lost, 1);
        return 0;
    }
    if (counters) __sync_fetch_and_add(&counters->stacks, 1);
    bpf_map_update_elem(&seen_stacks, &id, &capture, BPF_ANY);
    return id;
}

#include "bpf/python_names.bpf.h"

static __always_inline __u64 note_kernel_stack(void* ctx, struct stack_scratch* stack,
                                               __u64 now_ns) {
    long bytes = bpf_get_stack(ctx, stack->frames, sizeof(stack->frames), 0);
    return bytes > 0 ? note_stack(stack, 0, LAGTRAP_STACK_KERNEL, bytes / sizeof(__u64), now_ns)
                     : 0;
}

static __always_inline __u64 note_user_stack(struct stack_scratch* stack, __u32 pid, __u64 now_ns,
                                             bool sampled_in_kernel, enum scratch_user user) {
    walk_current_user_stack(&stack->walk, stack->frames, sampled_in_kernel);
    __u64 id = note_stack(stack, pid, LAGTRAP_STACK_USER | stack->walk.end << 1,
                          stack->walk.frame_count, now_ns);
    if (!stack->walk.python.is_named) note_python_names(stack, pid, now_ns, user);
    return complete_current_stack(&stack->walk, id, user, now_ns);
}

static __always_inline int note_sleep(const struct wait_question* question,
                                      struct lagtrap_wait_file* record) {
    record->pid = question->pid;
    record->tid = question->tid;
    record->kind = LAGTRAP_FILE_NONE;
    record->file = LAGTRAP_FILE_NONE;
    fill_header(&record->header, LAGTRAP_RECORD_WAIT_FILE, sizeof(*record), question->now_ns);
    bpf_ringbuf_output(&records, record, sizeof(*record), BPF_RB_NO_WAKEUP);
    return 0;
}

/* Records the file that a thread waits for, if any. Global, so that the verifier checks it once. */
__noinline int note_wait_file(const struct wait_question* question) {
    if (!question) return 0;
    __u32 zero = 0;
    struct path_scratch* out = question->by_iterator
                                   ? bpf_map_lookup_elem(&iterator_path_scratch, &zero)
                                   : bpf_map_lookup_elem(&path_scratch, &zero);
    if (!out) return 0;
    struct lagtrap_wait_file* record = &out->record;
    __builtin_memset(record, 0, sizeof(*record));
    struct file* file = waited_file(question, record);
    if (!file) return polls_nothing(question) ? note_sleep(question, record) : 0;
    struct inode* inode = BPF_CORE_READ(file, f_inode);
    struct sock* sk = sock_of(file);
    if (sk && question->call == CALL_CONNECT) sk = connected_to(question, sk);
    bool of_pipe = !sk && is_pipe(file);
    bool reads = of_pipe && is_reading(question->call, file);
    if (!inode || (!sk && !of_pipe && !is_on_a_disk(inode))) return 0;
    record->pid = question->pid;
    record->tid = question->tid;
    if (sk) {
        if (!name_peer(sk, record)) return 0;
    } else if (of_pipe) {
        record->kind = LAGTRAP_FILE_PIPE;
        record->file = ((__u64)inode << 1 ^ reads) * 0x9e3779b97f4a7c15ULL | 1;
    } else {
        record->file = ((__u64)BPF_CORE_READ(file, f_path.dentry) ^ (__u64)inode << 1) *
                           0x9e3779b97f4a7c15ULL |
                       1;
        read_disk(inode, record);
    }
    __u32 capture = recording.capture;
    __u64 key = record->file;
    __u32* seen_in = bpf_map_lookup_elem(&seen_stacks, &key);
    __u64 size = sizeof(*record);
    if (!seen_in || *seen_in != capture) {
        record->path_bytes = sk ? read_peer(sk, record->kind, out) : read_path(file, out);
        if (sk || of_pipe)
            want_owner(sk, record->kind, record->file, inode,
                       reads ? FILE_FOR_WRITING : FILE_FOR_READING);
        size += record->path_bytes;
    }
    barrier_var(size); /* as in note_stack */
    if (size > sizeof(*out)) return 0;
    fill_header(&record->header, LAGTRAP_RECORD_WAIT_FILE, size, question->now_ns);
    if (bpf_ringbuf_output(&records, out, size, BPF_RB_NO_WAKEUP) == 0)
        bpf_map_update_elem(&seen_stacks, &key, &capture, BPF_ANY);
    return 0;
}

/* Records the outcome of a connection attempt; `pid_tid` as from bpf_get_current_pid_tgid(), 0
 * if the thread is unknown. */
static __always_inline int note_connecting(const struct sock* trusted, __u8 kind, __u64 pid_tid) {
    const struct sock* sk =
        BPF_CORE_READ(trusted, sk_socket, sk); /* the same one, as a number: see address_of() */
    if (!sk || BPF_CORE_READ(sk, __sk_common.skc_state) != TCP_SYN_WAS_SENT ||
        !has_internet_peer(sk))
        return 0;
    struct {
        struct lagtrap_wait_file record;
        struct lagtrap_peer peer;
    } out = {};
    fill_header(&out.record.header, LAGTRAP_RECORD_WAIT_FILE, sizeof(out), bpf_ktime_get_ns());
    out.record.kind = kind;
    out.record.file = socket_number(sk, LAGTRAP_FILE_CONNECTING);
    out.record.pid = pid_tid >> 32;
    out.record.tid = (__u32)pid_tid;
    out.record.path_bytes = sizeof(out.peer);
    read_internet_peer(sk, &out.peer);
    bpf_ringbuf_output(&records, &out, sizeof(out), BPF_RB_NO_WAKEUP);
    return 0;
}

/* A connection attempt without an answer: its first packet or the answer was lost, or the
 * listener's queue is full. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmit, const struct sock* sk) {
    return recording.on ? note_connecting(sk, LAGTRAP_FILE_SYN_REPEATED, 0) : 0;
}

/* Within the machine, the reset arrives while the thread is still in its call. Waits for other
 * machines are not covered. */
SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(on_reset, const struct sock* sk) {
    if (!recording.on) return 0;
    struct pt_regs___kernel* registers = (void*)bpf_task_pt_regs(bpf_get_current_task_btf());
    if (!registers || registers->orig_ax != CALL_CONNECT) return 0;
    return note_connecting(sk, LAGTRAP_FILE_CONNECT_REFUSED, bpf_get_current_pid_tgid());
}

static __always_inline void report_owner(struct lagtrap_wait_file* record) {
    fill_header(&record->header, LAGTRAP_RECORD_WAIT_FILE, sizeof(*record), bpf_ktime_get_ns());
    bpf_ringbuf_output(&records, record, sizeof(*record), BPF_RB_NO_WAKEUP);
}

/* Who closes its end has it no more when the recording ends. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_socket_state, const struct sock* sk, int old_state, int new_state) {
    if (!recording.on || ends_wanted_in != recording.capture ||
        !is_closed_by_its_program(new_state))
        return 0;
    bool listened = old_state == TCP_LISTENS;
    struct wanted_end* wanted = listened ? wanted_listener(sk) : wanted_connection(sk);
    if (!wanted) return 0;
    __u8 kind = listened ? listener_kind(sk) : LAGTRAP_FILE_OWNER;
    struct lagtrap_wait_file record =
        owner_record(kind, wanted->socket, bpf_get_current_pid_tgid() >> 32);
    report_owner(&record);
    return 0;
}

/* A file of which a disk has written a part more. */
static __always_inline void report_written(struct written_scratch* out, struct inode* inode,
                                           struct written_file* file, struct request* request) {
    __builtin_memset(&out->record, 0, sizeof(out->record));
    out->record.file = written_number((__u64)inode);
    out->record.bytes = file->bytes;
    struct gendisk* disk = FOR_POINTERS(request)->q->disk;
    if (disk)
        bpf_probe_read_kernel_str(out->record.name, sizeof(out->record.name), disk->disk_name);
    __u64 size = sizeof(out->record);
    if (file->reported_bytes == 0) out->record.path_bytes = read_path_of_inode(inode, out->path);
    size += out->record.path_bytes;
    barrier_var(size); /* as in note_stack */
    if (size > __builtin_offsetof(struct written_scratch, is_used)) return;
    fill_header(&out->record.header, LAGTRAP_RECORD_WRITTEN, size, bpf_ktime_get_ns());
    if (bpf_ringbuf_output(&records, out, size, BPF_RB_NO_WAKEUP)) return;
    file->reported_bytes = out->record.bytes;
    files_written_in = recording.capture;
}

/* Counted when it is done: a sync hands all its requests over at once, before anybody finds that it
 * is slow. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_write_done, struct request* request, int error, unsigned int bytes) {
    if (!recording.on || !writes(request)) return 0;
    struct inode* inode = file_of_request(request);
    struct written_file* file = inode ? count_written((__u64)inode, bytes) : NULL;
    __u32 zero = 0;
    struct written_scratch* out = file ? bpf_map_lookup_elem(&written_scratch, &zero) : NULL;
    if (!out || out->is_used) return 0;
    out->is_used = 1;
    report_written(out, inode, file, request);
    out->is_used = 0;
    return 0;
}

static long report_ended_writer(__u32 place, __u32* until) {
    struct lagtrap_written* ended = bpf_map_lookup_elem(&ended_writers, &place);
    if (!ended || ended->ended_ns == 0) return 1;
    struct lagtrap_written record = *ended;
    fill_header(&record.header, LAGTRAP_RECORD_WRITTEN, sizeof(record), bpf_ktime_get_ns());
    bpf_ringbuf_output(&records, &record, sizeof(record), BPF_RB_NO_WAKEUP);
    return 0;
}

/* Every open file of the machine, once, when a recording ends in which somebody waited for a
 * socket, or a file was written. */
SEC("iter/task_file")
int on_open_file(struct bpf_iter__task_file* ctx) {
    struct task_struct* task = ctx->task;
    struct file* file = ctx->file;
    bool files_written = files_written_in == recording.capture;
    if (!task || !file || (ends_wanted_in != recording.capture && !files_written)) return 0;
    __u64 now_ns = bpf_ktime_get_ns();
    if (open_files_until_ns == 0) {
        open_files_until_ns = now_ns + OPEN_FILES_NS;
        if (files_written) bpf_loop(ENDED_WRITERS, report_ended_writer, NULL, 0);
    }
    if (now_ns >= open_files_until_ns) return 0;
    struct lagtrap_wait_file owner = owner_of(file, task->tgid);
    if (owner.kind != 0) report_owner(&owner);
    struct lagtrap_written writer = {.file = number_if_written(file), .pid = task->tgid};
    if (writer.file == 0) return 0;
    fill_header(&writer.header, LAGTRAP_RECORD_WRITTEN, sizeof(writer), now_ns);
    bpf_ringbuf_output(&records, &writer, sizeof(writer), BPF_RB_NO_WAKEUP);
    return 0;
}

#include "bpf/disk_limit.bpf.h"
#include "bpf/history.bpf.h"
#include "bpf/thread_context.bpf.h"

SEC("perf_event")
int on_sample(struct bpf_perf_event_data* ctx) {
    if (!recording.on) return 0;
    struct lagtrap_capture_counters* counters = my_counters();
    __u32 kind = SCRATCH_SAMPLE;
    struct stack_scratch* stack = bpf_map_lookup_elem(&scratch, &kind);
    if (!counters || !stack) return 0;
    __u64 pid_tid = bpf_get_current_pid_tgid();
    if ((__u32)pid_tid == 0) {
        counters->idle_samples++;
        return 0;
    }
    struct task_struct* task = (struct task_struct*)bpf_get_current_task();
    bool kernel_thread = BPF_CORE_READ(task, flags) & TASK_IS_KERNEL_THREAD;
    struct lagtrap_sample sample = {.pid = pid_tid >> 32, .tid = (__u32)pid_tid};
    fill_header(&sample.header, LAGTRAP_RECORD_SAMPLE, sizeof(sample), bpf_ktime_get_ns());
    sample.kernel_stack_id = note_kernel_stack(ctx, stack, sample.header.at_ns);
    sample.in_kernel = (ctx->regs.cs & 3) == 0;
    if (!kernel_thread) {
        note_context(task, pid_tid, sample.header.at_ns, SCRATCH_SAMPLE);
        sample.user_stack_id = note_user_stack(stack, sample.pid, sample.header.at_ns,
                                               sample.in_kernel, SCRATCH_SAMPLE);
    }
    counters->samples++;
    if (bpf_ringbuf_output(&records, &sample, sizeof(sample), BPF_RB_NO_WAKEUP))
        counters->samples_lost++;
    return 0;
}

enum { POLICY_NORMAL = 0, POLICY_BATCH = 3, POLICY_IDLE = 5 }; /* the fair class (linux/sched.h) */

/* A thread leaves this CPU without having been seen to get it: a kernel may not report some
 * switches (see come_to_cpu_late()). Its run time count tells when it got the CPU. */
static __noinline int conclude_switch(struct task_struct* prev, __u64 now_ns) {
    __u32 zero = 0;
    struct last_switch* last = bpf_map_lookup_elem(&last_switches, &zero);
    if (!last || last->capture != recording.capture || last->next_tid == prev->pid ||
        prev->pid == 0)
        return 0;
    if (prev->policy != POLICY_NORMAL && prev->policy != POLICY_BATCH &&
        prev->policy != POLICY_IDLE)
        return 0;
    __u64 ran_ns = prev->se.sum_exec_runtime - prev->se.prev_sum_exec_runtime;
    struct lagtrap_switch record = {};
    fill_header(&record.header, LAGTRAP_RECORD_SWITCH, LAGTRAP_SWITCH_LEAST_BYTES,
                ran_ns < now_ns - last->at_ns ? now_ns - ran_ns : last->at_ns + 1);
    record.prev_pid = last->next_pid;
    record.prev_tid = last->next_tid;
    record.prev_priority = last->next_priority;
    record.prev_state = 1;
    record.next_pid = prev->tgid;
    record.next_tid = prev->pid;
    record.next_priority = prev->prio;
    record.next_policy = prev->policy;
    record.flags = LAGTRAP_SWITCH_CONCLUDED;
    bpf_ringbuf_output(&records, &record, LAGTRAP_SWITCH_LEAST_BYTES, BPF_RB_NO_WAKEUP);
    return 0;
}

static __always_inline void note_last_switch(const struct lagtrap_switch* record) {
    __u32 zero = 0;
    struct last_switch* last = bpf_map_lookup_elem(&last_switches, &zero);
    if (!last) return;
    last->at_ns = record->header.at_ns;
    last->capture = recording.capture;
    last->next_pid = record->next_pid;
    last->next_tid = record->next_tid;
    last->next_priority = record->next_priority;
}

#include "bpf/yields.bpf.h"

/* Not inline, because on_switch() has no room on its stack. */
static __noinline __u32 current_lock_owner(struct task_struct* task) {
    return lock_owner(task, false);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct* prev, struct task_struct* next,
             unsigned int prev_state) {
    if (!recording.on)
        return recording.history && !preempt && prev_state != 0 ? note_wait_begin(ctx, prev) : 0;
    struct lagtrap_capture_counters* counters = my_counters();
    __u32 kind = SCRATCH_SWITCH;
    struct stack_scratch* stack = bpf_map_lookup_elem(&scratch, &kind);
    if (!counters || !stack) return 0;
    struct lagtrap_switch record = {};
    fill_header(&record.header, LAGTRAP_RECORD_SWITCH, sizeof(record), bpf_ktime_get_ns());
    record.prev_pid = prev->tgid;
    record.prev_tid = prev->pid;
    record.prev_priority = prev->prio;
    record.prev_state = preempt ? 0 : prev_state;
    record.next_pid = next->tgid;
    record.next_tid = next->pid;
    record.next_priority = next->prio;
    record.prev_policy = prev->policy;
    record.next_policy = next->policy;
    conclude_switch(prev, record.header.at_ns);
    note_last_switch(&record);
    __u32 size = LAGTRAP_SWITCH_LEAST_BYTES;
    if (quotas_seen) {
        if (record.prev_state == 0 && is_throttled(prev)) {
            record.flags = LAGTRAP_SWITCH_PREV_THROTTLED;
            note_throttling(prev, record.header.at_ns);
        }
        size = find_throttling(&record, next);
    }
    /* Samples cover threads that were preempted; where they stopped explains nothing, unless
     * they yielded. The kernel stack tells what a thread waits for, at a quarter of the cost or
     * less, so it is always taken. */
    bool has_program = record.prev_tid != 0 && !(prev->flags & TASK_IS_KERNEL_THREAD);
    bool wants_user_stack = has_program && !recording.without_user_stacks_of_switches;
    if (has_program)
        note_context(prev, (__u64)record.prev_pid << 32 | record.prev_tid, record.header.at_ns,
                     SCRATCH_SWITCH);
    if (record.prev_state == 0) {
        bool yields = has_program && is_yielding(prev);
        if (yields) record.flags |= LAGTRAP_SWITCH_PREV_YIELDED;
        wants_user_stack = wants_user_stack && yields && is_stack_of_yield_due(record.header.at_ns);
    } else if (record.prev_tid != 0) {
        record.kernel_stack_id = note_kernel_stack(ctx, stack, record.header.at_ns);
        if (has_program) {
            struct wait_question question = {.now_ns = record.header.at_ns};
            if (ask_about(prev, record.prev_state, &question)) {
                if (question.call < 0) question.touched_file = touched_file(prev);
                note_wait(&question);
            }
            record.wait_object = wait_object(prev);
            if (record.wait_object) {
                record.lock_owner = current_lock_owner(prev);
                size = sizeof(record);
            }
        }
    }
    record.header.size_bytes = size;
    if (wants_user_stack)
        record.user_stack_id =
            note_user_stack(stack, record.prev_pid, record.header.at_ns, false, SCRATCH_SWITCH);
    counters->switches++;
    if (bpf_ringbuf_output(&records, &record, size, BPF_RB_NO_WAKEUP)) counters->switches_lost++;
    return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct* wakee) {
    if (!recording.on) return recording.history ? note_wait_end(ctx, wakee) : 0;
    struct lagtrap_capture_counters* counters = my_counters();
    if (!counters) return 0;
    struct lagtrap_waking record = {};
    __u64 pid_tid = bpf_get_current_pid_tgid();
    fill_header(&record.header, LAGTRAP_RECORD_WAKING, sizeof(record), bpf_ktime_get_ns());
    record.waker_pid = pid_tid >> 32;
    record.waker_tid = (__u32)pid_tid;
    record.wakee_pid = wakee->tgid;
    record.wakee_tid = wakee->pid;
    record.wakee_priority = wakee->prio;
    record.target_cpu = record.header.cpu;
    __u32 size = find_cause(&record, wakee);
    record.header.size_bytes = size;
    note_contexts_of_waking(&record, wakee, SCRATCH_SWITCH);
    __sync_fetch_and_add(&counters->wakings, 1);
    if (bpf_ringbuf_output(&records, &record, size, BPF_RB_NO_WAKEUP))
        __sync_fetch_and_add(&counters->wakings_lost, 1);
    return 0;
}

/* A child has its parent's code until user space, some milliseconds later, says otherwise. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
    __u32 parent_pid = parent->tgid, child_pid = child->tgid;
    if (recording.on) note_thread_number(child);
    if (parent_pid == child_pid) return 0;
    struct lagtrap_unwind_space* space = bpf_map_lookup_elem(&unwind_processes, &parent_pid);
    if (!space) return 0;
    struct lagtrap_unwind_space copy = *space;
    bpf_map_update_elem(&unwind_processes, &child_pid, &copy, BPF_NOEXIST);
    pass_on_python(parent_pid, child_pid);
    return 0;
}

/* The process now has another program in memory, of which nothing is known yet. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct* task) {
    __u32 pid = task->tgid;
    bpf_map_delete_elem(&unwind_processes, &pid);
    bpf_map_delete_elem(&context_places, &pid);
    bpf_map_delete_elem(&python_processes, &pid);
    return 0;
}

/* Visits every thread of the machine once when a capture begins, with the stacks of sleeping
 * threads, for which the capture may never see a switch. */
SEC("iter.s/task")
int on_thread(struct bpf_iter__task* ctx) {
    struct task_struct* task = ctx->task;
    struct lagtrap_capture_counters* counters = my_counters();
    __u32 zero = 0;
    struct stack_scratch* stack = bpf_map_lookup_elem(&iterator_scratch, &zero);
    struct lagtrap_thread* record = bpf_map_lookup_elem(&iterator_thread, &zero);
    if (!task || !counters || !stack || !record) return 0;
    if (!quotas_seen && has_quota(task)) quotas_seen = true;
    note_thread_number(task);
    __builtin_memset(record, 0, sizeof(*record));
    fill_header(&record->header, LAGTRAP_RECORD_THREAD, sizeof(*record), bpf_ktime_get_ns());
    record->pid = task->tgid;
    record->tid = task->pid;
    record->parent_pid = FOR_POINTERS(task)->real_parent->tgid;
    record->uid = FOR_POINTERS(task)->real_cred->uid.val;
    record->started_ns = task->start_boottime;
    record->state = task->__state;
    record->is_kernel_thread = (task->flags & TASK_IS_KERNEL_THREAD) != 0;
    BPF_CORE_READ_STR_INTO(&record->comm, task, comm);
    if (record->state != 0) {
        long bytes = bpf_get_task_stack(task, stack->frames, sizeof(stack->frames), 0);
        if (bytes > 0)
            record->kernel_stack_id = note_stack(stack, 0, LAGTRAP_STACK_KERNEL,
                                                 bytes / sizeof(__u64), record->header.at_ns);
        if (!record->is_kernel_thread) {
            struct wait_question question = {.now_ns = record->header.at_ns, .by_iterator = 1};
            if (ask_about(task, record->state, &question)) note_wait(&question);
            record->wait_object = wait_object(task);
            if (record->wait_object) record->lock_owner = lock_owner(task, true);
            walk_sleeping_user_stack(&stack->walk, task, stack->frames);
            record->user_stack_id =
                note_stack(stack, record->pid, LAGTRAP_STACK_USER | stack->walk.end << 1,
                           stack->walk.frame_count, record->header.at_ns);
            if (!stack->walk.python.is_named)
                note_python_names_of(stack, task, record->header.at_ns);
            record->user_stack_id = complete_sleeping_stack(&stack->walk, record->user_stack_id,
                                                            task, record->header.at_ns);
        }
    }
    if (bpf_ringbuf_output(&records, record, sizeof(*record), BPF_RB_NO_WAKEUP))
        __sync_fetch_and_add(&counters->threads_lost, 1);
    return 0;
}
