/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * What a thread works for, as its program publishes it in memory: OpenTelemetry's thread context,
 * https://github.com/open-telemetry/opentelemetry-specification/blob/main/oteps/profiles/4947-thread-ctx.md
 * User space says which processes publish. The memory may hold anything, and is read only while the
 * thread does not run. Internal to the recorder, which owns the ring.
 */
#ifndef LAGTRAP_BPF_THREAD_CONTEXT_BPF_H
#define LAGTRAP_BPF_THREAD_CONTEXT_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/recorder.h"

#define CONTEXT_THREADS 4096
#define CONTEXT_IS_VALID 1
#define THREAD_BLOCKS 8  /* of a thread's head (glibc and musl): its list of blocks */
#define NO_BLOCK (~0ULL) /* glibc's mark for a block that the thread has not touched yet */

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LAGTRAP_PUBLISHING_PROCESSES);
    __type(key, __u32); /* the process */
    __type(value, struct lagtrap_context_place);
} context_places SEC(".maps");

/* 1: context_places is not empty. */
volatile __u32 contexts_published = 0;

/* As the specification lays it out. */
struct published_context {
    __u8 trace_id[16];
    __u64 span_id;
    __u8 valid;
    __u8 trace_flags;
    __u16 attribute_bytes;
    __u32 padding; /* ours */
};
#define PUBLISHED_CONTEXT_BYTES 28

struct last_context {
    __u64 span_id;
    __u64 trace_id; /* its second half */
    __u32 attribute_bytes;
    __u32 capture;
};

/* As last written, by thread. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, CONTEXT_THREADS);
    __type(key, __u32);
    __type(value, struct last_context);
} last_contexts SEC(".maps");

struct context_scratch {
    struct lagtrap_context record;
    __u8 attributes[LAGTRAP_CONTEXT_ATTRIBUTE_BYTES + 4];
    struct published_context head;
    struct published_context again;
    __u64 address;
};

/* A sample may interrupt a switch: enum scratch_user. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct context_scratch);
} context_scratch SEC(".maps");

/* For the iterator, which one daemon thread runs at a time. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct context_scratch);
} iterator_context_scratch SEC(".maps");

/* `sleeping`: the caller may sleep, and `task` is trusted. */
static __always_inline long read_program(void* to, __u32 bytes, __u64 from,
                                         struct task_struct* task, bool sleeping) {
    return sleeping ? bpf_copy_from_user_task(to, bytes, (const void*)from, task, 0)
                    : bpf_probe_read_user(to, bytes, (const void*)from);
}

/* Where the thread with this thread pointer has its pointer to a context; 0: nowhere yet. */
static __always_inline __u64 context_pointer_at(const struct lagtrap_context_place* place,
                                                __u64 base, struct context_scratch* scratch,
                                                struct task_struct* task, bool sleeping) {
    if (base == 0) return 0;
    if (place->block == 0) return base + place->offset;
    if (read_program(&scratch->address, 8, base + THREAD_BLOCKS, task, sleeping)) return 0;
    __u64 blocks = scratch->address;
    if (read_program(&scratch->address, 8, blocks + place->block_count_offset, task, sleeping) ||
        scratch->address < place->block)
        return 0;
    __u64 entry = blocks + (__u64)place->block * place->block_entry_bytes;
    if (read_program(&scratch->address, 8, entry, task, sleeping)) return 0;
    __u64 block = scratch->address;
    return block == 0 || block == NO_BLOCK ? 0 : block + place->offset;
}

static __always_inline void count_unreadable(void) {
    struct lagtrap_capture_counters* counters = my_counters();
    if (counters) __sync_fetch_and_add(&counters->contexts_unreadable, 1);
}

/* Reads the head of the thread's context into scratch->head; all 0 if it has none. */
static __always_inline void read_context_head(const struct lagtrap_context_place* place, __u64 base,
                                              struct context_scratch* scratch,
                                              struct task_struct* task, bool sleeping) {
    __builtin_memset(&scratch->head, 0, sizeof(scratch->head));
    __u64 pointer_at = context_pointer_at(place, base, scratch, task, sleeping);
    scratch->address = 0;
    if (pointer_at == 0) return;
    if (read_program(&scratch->address, 8, pointer_at, task, sleeping)) scratch->address = 0;
    if (scratch->address == 0) return;
    if (read_program(&scratch->head, PUBLISHED_CONTEXT_BYTES, scratch->address, task, sleeping)) {
        count_unreadable();
        scratch->head.valid = 0;
    }
    if (scratch->head.valid != CONTEXT_IS_VALID || scratch->head.span_id == 0)
        __builtin_memset(&scratch->head, 0, sizeof(scratch->head));
}

/* Whether the last record of the thread says the same. */
static __always_inline bool is_same_context(const struct last_context* last,
                                            const struct last_context* now) {
    bool had_one = last && last->capture == now->capture && last->span_id != 0;
    if (!had_one) return now->span_id == 0;
    return last->span_id == now->span_id && last->trace_id == now->trace_id &&
           last->attribute_bytes == now->attribute_bytes;
}

/* False if the program changed it meanwhile. */
static __always_inline bool read_attributes(struct context_scratch* scratch,
                                            struct task_struct* task, bool sleeping) {
    __u64 bytes = scratch->head.attribute_bytes;
    if (bytes > LAGTRAP_CONTEXT_ATTRIBUTE_BYTES) bytes = LAGTRAP_CONTEXT_ATTRIBUTE_BYTES;
    barrier_var(bytes); /* as in note_stack */
    if (bytes > LAGTRAP_CONTEXT_ATTRIBUTE_BYTES) return false;
    scratch->record.attribute_bytes = bytes;
    if (bytes == 0) return true;
    __u64 from = scratch->address + PUBLISHED_CONTEXT_BYTES;
    if (read_program(scratch->attributes, bytes, from, task, sleeping) ||
        read_program(&scratch->again, PUBLISHED_CONTEXT_BYTES, scratch->address, task, sleeping)) {
        count_unreadable();
        return false;
    }
    return scratch->again.valid == CONTEXT_IS_VALID &&
           scratch->again.span_id == scratch->head.span_id;
}

/* Writes the thread's context unless its last record says the same. */
static __always_inline int write_context(const struct lagtrap_context_place* place, __u64 base,
                                         struct context_scratch* scratch, struct task_struct* task,
                                         __u64 pid_tid, __u64 now_ns, bool sleeping) {
    __u32 tid = pid_tid;
    read_context_head(place, base, scratch, task, sleeping);
    struct last_context now = {.span_id = scratch->head.span_id,
                               .attribute_bytes = scratch->head.attribute_bytes,
                               .capture = recording.capture};
    __builtin_memcpy(&now.trace_id, &scratch->head.trace_id[8], 8);
    if (is_same_context(bpf_map_lookup_elem(&last_contexts, &tid), &now)) return 0;
    struct lagtrap_context* record = &scratch->record;
    __builtin_memset(record, 0, sizeof(*record));
    if (now.span_id != 0 && !read_attributes(scratch, task, sleeping)) return 0;
    record->pid = pid_tid >> 32;
    record->tid = tid;
    __builtin_memcpy(record->trace_id, scratch->head.trace_id, sizeof(record->trace_id));
    __builtin_memcpy(record->span_id, &scratch->head.span_id, sizeof(record->span_id));
    __u64 size = sizeof(*record) + record->attribute_bytes;
    barrier_var(size);
    if (size > __builtin_offsetof(struct context_scratch, head)) return 0;
    fill_header(&record->header, LAGTRAP_RECORD_CONTEXT, size, now_ns);
    if (bpf_ringbuf_output(&records, scratch, size, BPF_RB_NO_WAKEUP)) {
        struct lagtrap_capture_counters* counters = my_counters();
        if (counters) __sync_fetch_and_add(&counters->contexts_lost, 1);
        return 0;
    }
    bpf_map_update_elem(&last_contexts, &tid, &now, BPF_ANY);
    return 0;
}

/* Global, so that the verifier checks it once. `base` is the thread pointer of the current thread,
 * or of one that does not run and has the same memory. */
__noinline int note_context_at(__u64 base, __u64 pid_tid, __u64 now_ns, __u32 user) {
    __u32 pid = pid_tid >> 32, kind = user;
    struct lagtrap_context_place* place = bpf_map_lookup_elem(&context_places, &pid);
    if (!place) return 0;
    struct context_scratch* scratch = bpf_map_lookup_elem(&context_scratch, &kind);
    if (!scratch) return 0;
    return write_context(place, base, scratch, NULL, pid_tid, now_ns, false);
}

static __always_inline void note_context(struct task_struct* task, __u64 pid_tid, __u64 now_ns,
                                         __u32 user) {
    if (contexts_published)
        note_context_at(BPF_CORE_READ(task, thread.fsbase), pid_tid, now_ns, user);
}

/* The waker's, and, if it can read that memory, the wakee's: what the wakee waited for may be over
 * before it is seen again. */
static __always_inline void note_contexts_of_waking(const struct lagtrap_waking* record,
                                                    struct task_struct* wakee, __u32 user) {
    if (!contexts_published || record->in_interrupt != LAGTRAP_INTERRUPT_NONE) return;
    note_context((struct task_struct*)bpf_get_current_task(),
                 (__u64)record->waker_pid << 32 | record->waker_tid, record->header.at_ns, user);
    if (record->wakee_pid == record->waker_pid)
        note_context(wakee, (__u64)record->wakee_pid << 32 | record->wakee_tid,
                     record->header.at_ns, user);
}

/* The contexts of sleeping threads, once it is known that their programs publish some. */
SEC("iter.s/task")
int on_publishing_thread(struct bpf_iter__task* ctx) {
    struct task_struct* task = ctx->task;
    __u32 zero = 0;
    struct context_scratch* scratch = bpf_map_lookup_elem(&iterator_context_scratch, &zero);
    if (!task || !scratch || task->__state == 0) return 0;
    __u32 pid = task->tgid;
    struct lagtrap_context_place* place = bpf_map_lookup_elem(&context_places, &pid);
    if (!place) return 0;
    return write_context(place, BPF_CORE_READ(task, thread.fsbase), scratch, task,
                         (__u64)pid << 32 | (__u32)task->pid, bpf_ktime_get_ns(), true);
}

#endif
