/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Copies stacks whose walk ended for lack of a table or mapping, so that the merge can continue
 * it: the frame's registers and the memory above it. Limited by a budget per recording. A
 * quarter is reserved for the process whose run triggered the recording; any other process gets
 * at most a quarter, and a party (bpf/party.h) other than the machine's root at most half.
 */
#ifndef LAGTRAP_BPF_STACK_COPY_BPF_H
#define LAGTRAP_BPF_STACK_COPY_BPF_H

#include "bpf/party.bpf.h"
#include "bpf/recorder.h"
#include "bpf/user_stack.bpf.h"

#define COPY_PAGE_BYTES 4096
#define COPYING_PARTIES 4096
#define COPYING_PARTY (1ULL << 32) /* set in keys of parties, not in those of processes */
#define RED_ZONE_BYTES 128         /* System V ABI for x86-64, 3.2.2 */

struct copy_scratch {
    struct lagtrap_stack_copy record;
    __u8 bytes[LAGTRAP_COPIED_STACK_BYTES];
};

/* A sample may interrupt the copy for a switch. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2); /* for samples and switches: enum scratch_user */
    __type(key, __u32);
    __type(value, struct copy_scratch);
} copy_scratch SEC(".maps");

/* For the iterator, which one daemon thread runs at a time. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct copy_scratch);
} iterator_copy_scratch SEC(".maps");

/* Separate, so that copies arriving faster than they are written do not displace other records. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 8 * 1024 * 1024);
} stack_copies SEC(".maps");

struct copied_share {
    __u32 capture;
    __u32 bytes;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, COPYING_PARTIES);
    __type(key, __u64); /* a process, or COPYING_PARTY | a party */
    __type(value, struct copied_share);
} copied_shares SEC(".maps");

volatile struct lagtrap_copying copying = {};

/* What to copy, and for whom. */
struct copy_question {
    __u64 inner_id; /* of the stack walked so far */
    __u64 now_ns;
    __u32 pid;
    __u32 tid;
    __u32 party;   /* bpf/party.h */
    __u32 scratch; /* index of the scratch; the iterator passes its own */
};

static __always_inline bool wants_copy(const struct user_walk* walk) {
    switch (walk->end & ~LAGTRAP_STACK_BY_FRAME_POINTER) {
        case LAGTRAP_STACK_END_NO_PROCESS:
        case LAGTRAP_STACK_END_NO_MAPPING:
        case LAGTRAP_STACK_END_NO_TABLE:
        case LAGTRAP_STACK_END_OUT_OF_BUDGET: return copying.budget_bytes != 0;
        default: return false;
    }
}

static __always_inline bool has_share(__u64 who, __u64 limit_bytes) {
    struct copied_share* share = bpf_map_lookup_elem(&copied_shares, &who);
    return !share || share->capture != copying.capture ||
           share->bytes + sizeof(struct copy_scratch) <= limit_bytes;
}

/* Whether one more copy fits the budget and the shares of process and party. */
static __always_inline bool may_copy(const struct copy_question* question) {
    __u64 budget_bytes = copying.budget_bytes;
    bool first = question->pid == copying.first_pid;
    __u64 limit_bytes = first ? budget_bytes : budget_bytes / 4 * 3;
    if (copying.taken_bytes + sizeof(struct copy_scratch) > limit_bytes) return false;
    if (first) return true;
    if (!has_share(question->pid, budget_bytes / 4)) return false;
    return question->party == 0 || has_share(COPYING_PARTY | question->party, budget_bytes / 2);
}

static __always_inline void add_to_share(__u64 who, __u32 bytes) {
    struct copied_share* share = bpf_map_lookup_elem(&copied_shares, &who);
    if (share && share->capture == copying.capture) {
        __sync_fetch_and_add(&share->bytes, bytes);
        return;
    }
    struct copied_share first = {.capture = copying.capture, .bytes = bytes};
    bpf_map_update_elem(&copied_shares, &who, &first, BPF_ANY);
}

static __always_inline void take_share(const struct copy_question* question, __u32 bytes) {
    __sync_fetch_and_add(&copying.taken_bytes, bytes);
    if (question->pid == copying.first_pid) return;
    add_to_share(question->pid, bytes);
    if (question->party != 0) add_to_share(COPYING_PARTY | question->party, bytes);
}

/* Copies what the walk knew about its last frame. */
static __always_inline void copy_registers(struct lagtrap_stack_copy* record,
                                           const struct user_walk* walk) {
    record->pc = walk->pc;
    record->sp = walk->sp;
    record->bp = walk->bp;
    record->known = walk->pc_is_return_address ? LAGTRAP_COPY_AFTER_CALL : 0;
    if (walk->registers && !walk->registers_in_user_memory &&
        bpf_probe_read_kernel(record->registers, sizeof(record->registers),
                              (void*)walk->registers) == 0)
        record->known |= LAGTRAP_COPY_HAS_REGISTERS;
    record->return_count = 0;
    struct return_instance* instance = (void*)walk->return_instance;
    for (__u32 i = 0; i < LAGTRAP_COPIED_RETURNS; i++) {
        if (!instance) break;
        record->returns[i].slot = BPF_CORE_READ(instance, stack);
        record->returns[i].address = BPF_CORE_READ(instance, orig_ret_vaddr);
        record->return_count = i + 1;
        instance = BPF_CORE_READ(instance, next);
    }
}

/* Copies pages as far as they exist. Includes what is just below the stack pointer if its page
 * is readable: registers that a function has already restored are there. `task` is set for a
 * sleeping thread. */
static __always_inline __u32 copy_memory(struct copy_scratch* copy, struct task_struct* task) {
    struct walk_context context = {.task = task};
    __u64 from = copy->record.sp - RED_ZONE_BYTES;
    __u64 bytes = COPY_PAGE_BYTES - (from & (COPY_PAGE_BYTES - 1));
    barrier_var(bytes);
    if (bytes == 0 || bytes > COPY_PAGE_BYTES) return 0;
    if (read_user(&context, copy->bytes, bytes, from, task != 0)) {
        if (bytes > RED_ZONE_BYTES) return 0;
        from += bytes;
        bytes = COPY_PAGE_BYTES;
        if (read_user(&context, copy->bytes, COPY_PAGE_BYTES, from, task != 0)) return 0;
    }
    copy->record.copied_from = from;
    for (__u32 i = 1; i < LAGTRAP_COPIED_STACK_BYTES / COPY_PAGE_BYTES; i++) {
        if (read_user(&context, copy->bytes + bytes, COPY_PAGE_BYTES, from + bytes, task != 0))
            break;
        bytes += COPY_PAGE_BYTES;
        barrier_var(bytes);
        if (bytes > LAGTRAP_COPIED_STACK_BYTES - COPY_PAGE_BYTES) break;
    }
    return bytes;
}

/* Returns the copy's id, which samples refer to; 0 if there is no copy. */
static __always_inline __u64 write_copy(struct copy_scratch* copy, const struct user_walk* walk,
                                        const struct copy_question* question,
                                        struct task_struct* task) {
    struct lagtrap_stack_copy* record = &copy->record;
    copy_registers(record, walk);
    struct walk_context context = {.task = task};
    record->rbx = 0;
    if (walk->rbx_address) {
        long failed = walk->rbx_in_user_memory
                          ? read_user(&context, &record->rbx, sizeof(record->rbx),
                                      walk->rbx_address, task != 0)
                          : bpf_probe_read_kernel(&record->rbx, sizeof(record->rbx),
                                                  (void*)walk->rbx_address);
        if (failed == 0) record->known |= LAGTRAP_COPY_HAS_RBX;
    }
    record->copied_from = record->sp;
    __u64 bytes = copy_memory(copy, task);
    record->header.type = LAGTRAP_RECORD_STACK_COPY;
    record->header.cpu = bpf_get_smp_processor_id();
    record->header.at_ns = question->now_ns;
    __u64 id = (question->inner_id ^ question->now_ns) * 0x9e3779b97f4a7c15ULL ^ question->tid;
    if (id == 0) id = 1;
    record->stack_id = id;
    record->inner_id = question->inner_id;
    record->pid = question->pid;
    record->copied_bytes = bytes;
    record->end = walk->end;
    record->padding_bytes = 0;
    record->padding = 0;
    __u64 size = sizeof(*record) + bytes;
    barrier_var(size); /* as in note_stack */
    if (size > sizeof(*copy)) return 0;
    record->header.size_bytes = size;
    if (bpf_ringbuf_output(&stack_copies, copy, size, BPF_RB_NO_WAKEUP)) {
        __sync_fetch_and_add(&copying.lost, 1);
        return 0;
    }
    take_share(question, size);
    __sync_fetch_and_add(&copying.copies, 1);
    return id;
}

/* For the current thread. Global, so that the verifier checks it once. The copy's id replaces
 * question->inner_id. */
__noinline int copy_current_stack(struct user_walk* walk, struct copy_question* question) {
    if (!walk || !question) return 0;
    if (!may_copy(question)) {
        __sync_fetch_and_add(&copying.left_out, 1);
        return 0;
    }
    __u32 number = question->scratch;
    struct copy_scratch* copy = bpf_map_lookup_elem(&copy_scratch, &number);
    if (!copy) return 0;
    __u64 id = write_copy(copy, walk, question, 0);
    if (id == 0) return 0;
    question->inner_id = id;
    return 1;
}

/* Copies the current thread's stack, noted as `inner_id`, if its walk needs that. Returns the
 * copy's id, otherwise `inner_id`. */
static __always_inline __u64 complete_current_stack(struct user_walk* walk, __u64 inner_id,
                                                    __u32 scratch, __u64 now_ns) {
    if (inner_id == 0 || !wants_copy(walk)) return inner_id;
    __u64 pid_tid = bpf_get_current_pid_tgid();
    struct copy_question question = {
        .inner_id = inner_id,
        .now_ns = now_ns,
        .pid = pid_tid >> 32,
        .tid = (__u32)pid_tid,
        .party = current_party(),
        .scratch = scratch,
    };
    copy_current_stack(walk, &question);
    return question.inner_id;
}

/* The same for a sleeping thread; only from a sleepable program. */
static __always_inline __u64 complete_sleeping_stack(struct user_walk* walk, __u64 inner_id,
                                                     struct task_struct* task, __u64 now_ns) {
    if (inner_id == 0 || !wants_copy(walk)) return inner_id;
    struct copy_question question = {
        .inner_id = inner_id,
        .now_ns = now_ns,
        .pid = task->tgid,
        .tid = task->pid,
        .party = party_of(task),
    };
    __u32 zero = 0;
    struct copy_scratch* copy = bpf_map_lookup_elem(&iterator_copy_scratch, &zero);
    if (!copy) return inner_id;
    if (!may_copy(&question)) {
        __sync_fetch_and_add(&copying.left_out, 1);
        return inner_id;
    }
    __u64 id = write_copy(copy, walk, &question, task);
    return id ? id : inner_id;
}

#endif
