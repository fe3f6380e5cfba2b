/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Objects of one process: what creates, uses and releases them, what that took in time and memory, and whether it failed.
 *
 * A frame is known by its stack pointer, as in calls.bpf.c. Uprobe programs may be preempted; a thread's state is written by
 * programs that run in its own name, and by the scheduler's tracepoint, which adds to one sum alone.
 */
#include "bpf/objects.h"

#include "bpf/function_exit.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/one_stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 target_pid = 0;
const volatile __u64 errno_slot =
    0; /* address of the word that says where errno is, from the thread's base; 0: not known */

struct object_frame {
    __u64 stack_pointer; /* at the first instruction */
    __u64 begin_ns;
    __u64 off_cpu_ns; /* that the thread had by then, as the following three */
    __u64 taken_bytes;
    __u64 given_bytes;
    __u64 allocations;
    __u64 probes_ns; /* of calls below it, and of the allocator */
    __u64 object;
    __u64 place; /* where the object's number will be */
    __u64 caller;
    __s64 resident_pages;
    __u32 function;
    __u8 state;    /* enum lagtrap_object_state */
    __u8 inserted; /* it put the object among those alive */
    __u8 wanted;   /* something below it was sent */
    __u8 padding;
    char title[LAGTRAP_OBJECT_TEXT_BYTES];
};

struct object_thread {
    __u64 off_cpu_ns;
    __u64 left_cpu_ns; /* 0: it has a CPU */
    __u64 taken_bytes;
    __u64 given_bytes;
    __u64 allocations;
    __u64 changed_bytes; /* of the block that realloc has */
    __u64 memory_place;  /* of posix_memalign */
    __u64 thrown_ns;
    __u32 depth;
    __u32 in_change; /* realloc is open */
    char thrown_type[LAGTRAP_OBJECT_TEXT_BYTES];
    char thrown_text[LAGTRAP_OBJECT_TEXT_BYTES];
    struct object_frame frames[LAGTRAP_OBJECT_DEPTH];
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct object_thread);
} threads SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_OBJECT_FUNCTIONS);
    __type(key, __u32);
    __type(value, struct lagtrap_object_function);
} functions SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_OBJECT_CLASSES);
    __type(key, __u32);
    __type(value, struct lagtrap_object_class);
} classes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct lagtrap_object_totals);
} totals SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LAGTRAP_OBJECTS_ALIVE);
    __type(key, struct lagtrap_object_key);
    __type(value, struct lagtrap_object_alive);
} alive SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, LAGTRAP_OBJECTS_RELEASED);
    __type(key, struct lagtrap_object_key);
    __type(value, __u32); /* the class */
} released SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, LAGTRAP_OBJECT_RING_BYTES);
} object_calls SEC(".maps");

static __always_inline struct lagtrap_object_totals* all_totals(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&totals, &zero);
}

static __always_inline struct lagtrap_object_function* function_of(__u32 number) {
    return bpf_map_lookup_elem(&functions, &number);
}

static __always_inline struct lagtrap_object_class* class_of(__u32 number) {
    return bpf_map_lookup_elem(&classes, &number);
}

/* The number is bounded once more where it is used: compilers move the check to other values. */
static __always_inline struct object_frame* frame_at(struct object_thread* thread, __u32 place) {
    if (place >= LAGTRAP_OBJECT_DEPTH) return NULL;
    __u64 bounded = place;
    asm volatile("%0 &= %1" : "+r"(bounded) : "i"(LAGTRAP_OBJECT_DEPTH - 1));
    return &thread->frames[bounded];
}

static __always_inline __u64 less(__u64 whole, __u64 part) { return whole > part ? whole - part : 0; }

SEC("tp_btf/sched_switch")
int BPF_PROG(count_off_cpu, bool preempt, struct task_struct* prev, struct task_struct* next) {
    if (prev->tgid == target_pid) {
        struct object_thread* thread = bpf_task_storage_get(&threads, prev, NULL, 0);
        if (thread) thread->left_cpu_ns = bpf_ktime_get_ns();
    }
    if (next->tgid == target_pid) {
        struct object_thread* thread = bpf_task_storage_get(&threads, next, NULL, 0);
        if (thread && thread->left_cpu_ns) {
            thread->off_cpu_ns += bpf_ktime_get_ns() - thread->left_cpu_ns;
            thread->left_cpu_ns = 0;
        }
    }
    return 0;
}

/* Pages of files, anonymous ones and shared memory; since kernel commit f1a7941243c1 (6.2) each sum lies with the CPUs, and is
 * a little behind. */
struct percpu_counter___resident {
    __s64 count;
} KERNEL_TYPE;
struct mm_struct___by_cpu {
    struct percpu_counter___resident rss_stat[4];
} KERNEL_TYPE;
struct mm_rss_stat {
    __s64 count[4];
} KERNEL_TYPE;
struct mm_struct___sums {
    struct mm_rss_stat rss_stat;
} KERNEL_TYPE;
struct task_struct___memory {
    void* mm;
} KERNEL_TYPE;
struct thread_struct {
    unsigned long fsbase;
} KERNEL_TYPE;
struct task_struct___thread {
    struct thread_struct thread;
} KERNEL_TYPE;

static __noinline __s64 resident_pages(struct task_struct* task) {
    void* memory = BPF_CORE_READ((struct task_struct___memory*)task, mm);
    if (!memory) return 0;
    __s64 counts[3] = {};
    if (bpf_core_type_exists(struct mm_rss_stat)) {
        struct mm_struct___sums* sums = memory;
        counts[0] = BPF_CORE_READ(sums, rss_stat.count[0]);
        counts[1] = BPF_CORE_READ(sums, rss_stat.count[1]);
        counts[2] = BPF_CORE_READ(sums, rss_stat.count[3]);
    } else {
        struct mm_struct___by_cpu* sums = memory;
        counts[0] = BPF_CORE_READ(sums, rss_stat[0].count);
        counts[1] = BPF_CORE_READ(sums, rss_stat[1].count);
        counts[2] = BPF_CORE_READ(sums, rss_stat[3].count);
    }
    return counts[0] + counts[1] + counts[2];
}

static __noinline __s32 error_number(struct task_struct* task) {
    if (!errno_slot) return 0;
    __s64 offset = 0;
    __s32 number = 0;
    if (bpf_probe_read_user(&offset, sizeof(offset), (const void*)errno_slot)) return 0;
    __u64 base = BPF_CORE_READ((struct task_struct___thread*)task, thread.fsbase);
    if (bpf_probe_read_user(&number, sizeof(number), (const void*)(base + offset))) return 0;
    return number;
}

/* Whether an open call further out creates or releases the object. */
struct object_walk {
    struct object_thread* thread;
    __u64 object;
    __u32 rule;
    __u32 place; /* that is looked at next, from 1 */
    __u32 found;
};

static long find_owner(__u32 index, struct object_walk* walk) {
    struct object_frame* frame = frame_at(walk->thread, walk->place - 1);
    if (!frame) return 1;
    struct lagtrap_object_function* function = function_of(frame->function);
    if (function && frame->object == walk->object && function->rule == walk->rule &&
        (function->role == LAGTRAP_OBJECT_CREATE || function->role == LAGTRAP_OBJECT_RELEASE)) {
        walk->found = 1;
        return 1;
    }
    walk->place--;
    return 0;
}

static __noinline bool is_owned(struct object_thread* thread, __u32 place, __u64 object, __u32 rule) {
    struct object_walk walk = {.thread = thread, .object = object, .rule = rule, .place = place};
    bpf_loop(LAGTRAP_OBJECT_DEPTH, find_owner, &walk, 0);
    return walk.found;
}

static __always_inline void keep_alive(struct object_frame* frame, struct lagtrap_object_function* function,
                                       struct lagtrap_object_key* key, bool open) {
    struct lagtrap_object_class* class = class_of(function->class_number);
    if (!class) return;
    struct lagtrap_object_alive fresh = {.created_ns = frame->begin_ns,
                                         .caller = frame->caller,
                                         .function = frame->function,
                                         .class_number = function->class_number,
                                         .tid = bpf_get_current_pid_tgid(),
                                         .open = open};
    __builtin_memcpy(fresh.title, frame->title, sizeof(fresh.title));
    bpf_map_delete_elem(&released, key);
    if (bpf_map_update_elem(&alive, key, &fresh, BPF_ANY)) {
        __sync_fetch_and_add(&class->not_followed, 1);
        return;
    }
    frame->inserted = 1;
}

/* A creation begins whose object is known before. Part of another one's is a constructor of a base, or one that another one
 * calls in its place. */
static __noinline void begin_creation(struct object_thread* thread, __u32 place) {
    struct object_frame* frame = frame_at(thread, place);
    struct lagtrap_object_function* function = frame ? function_of(frame->function) : NULL;
    if (!function) return;
    if (is_owned(thread, place, frame->object, function->rule)) {
        frame->state = LAGTRAP_OBJECT_WITHIN;
        return;
    }
    struct lagtrap_object_key key = {.object = frame->object, .rule = function->rule};
    struct lagtrap_object_alive* before = bpf_map_lookup_elem(&alive, &key);
    if (before) {
        struct lagtrap_object_class* class = class_of(before->class_number);
        if (class && !before->open) __sync_fetch_and_add(&class->replaced, 1);
    }
    frame->state = LAGTRAP_OBJECT_CREATED;
    keep_alive(frame, function, &key, true);
}

/* What an inner creation of the same call made is the outer one's. */
static __noinline void end_creation(struct object_thread* thread, __u32 place, bool failed) {
    struct object_frame* frame = frame_at(thread, place);
    struct lagtrap_object_function* function = frame ? function_of(frame->function) : NULL;
    if (!function || frame->state == LAGTRAP_OBJECT_WITHIN) return;
    struct lagtrap_object_key key = {.object = frame->object, .rule = function->rule};
    struct lagtrap_object_class* class = class_of(function->class_number);
    if (!class || !key.object) return;
    /* A library may give an object even then, which has to be released (sqlite3_open()). */
    if (failed && (frame->inserted || !function->object_behind)) {
        if (frame->inserted) bpf_map_delete_elem(&alive, &key);
        return;
    }
    struct lagtrap_object_alive* known = bpf_map_lookup_elem(&alive, &key);
    if (!frame->inserted) {
        if (known && known->created_ns >= frame->begin_ns) {
            struct lagtrap_object_class* inner = class_of(known->class_number);
            if (inner) __sync_fetch_and_add(&inner->created, -1);
        } else if (known) {
            struct lagtrap_object_class* before = class_of(known->class_number);
            if (before) __sync_fetch_and_add(&before->replaced, 1);
        }
        keep_alive(frame, function, &key, false);
        known = bpf_map_lookup_elem(&alive, &key);
    }
    frame->state = LAGTRAP_OBJECT_CREATED;
    __sync_fetch_and_add(&class->created, 1);
    if (!known) return;
    known->open = 0;
    known->bytes =
        (__s64)(thread->taken_bytes - frame->taken_bytes) - (__s64)(thread->given_bytes - frame->given_bytes);
}

static __noinline void use_object(struct object_thread* thread, __u32 place) {
    struct object_frame* frame = frame_at(thread, place);
    struct lagtrap_object_function* function = frame ? function_of(frame->function) : NULL;
    if (!function || (!frame->object && !function->reused)) return;
    struct lagtrap_object_key key = {.object = frame->object, .rule = function->rule};
    struct lagtrap_object_alive* known = bpf_map_lookup_elem(&alive, &key);
    if (known) {
        __sync_fetch_and_add(&known->uses, 1);
        frame->state = LAGTRAP_OBJECT_ALIVE;
        return;
    }
    struct lagtrap_object_class* class = class_of(function->class_number);
    if (!class) return;
    if (is_owned(thread, place, frame->object, function->rule)) {
        frame->state = LAGTRAP_OBJECT_WITHIN;
    } else if (!function->reused && bpf_map_lookup_elem(&released, &key)) {
        frame->state = LAGTRAP_OBJECT_AFTER;
        __sync_fetch_and_add(&class->used_after, 1);
    } else if (!function->reused) {
        __sync_fetch_and_add(&class->unknown, 1);
    }
}

/* At its begin: when it ends, another thread may have the number for a new one. */
static __noinline void release_object(struct object_thread* thread, __u32 place) {
    struct object_frame* frame = frame_at(thread, place);
    struct lagtrap_object_function* function = frame ? function_of(frame->function) : NULL;
    if (!function || (!frame->object && !function->reused)) return;
    struct lagtrap_object_key key = {.object = frame->object, .rule = function->rule};
    struct lagtrap_object_alive* known = bpf_map_lookup_elem(&alive, &key);
    __u32 number = function->class_number;
    if (known && !known->open) {
        number = known->class_number;
        struct lagtrap_object_class* class = class_of(number);
        bpf_map_delete_elem(&alive, &key);
        if (class) __sync_fetch_and_add(&class->released, 1);
        frame->state = LAGTRAP_OBJECT_RELEASED;
    } else {
        struct lagtrap_object_class* class = class_of(number);
        if (!class) return;
        if (is_owned(thread, place, frame->object, function->rule)) {
            frame->state = LAGTRAP_OBJECT_WITHIN;
            return;
        }
        if (!function->reused && bpf_map_lookup_elem(&released, &key)) {
            frame->state = LAGTRAP_OBJECT_TWICE;
            __sync_fetch_and_add(&class->released_twice, 1);
            return;
        }
        if (!function->reused) __sync_fetch_and_add(&class->unknown, 1);
    }
    bpf_map_update_elem(&released, &key, &number, BPF_ANY);
}

static __always_inline bool result_fails(struct lagtrap_object_function* function, __u64 result) {
    __s32 low = result;
    bool is_small = result >> 32 == 0;
    for (int i = 0; i < LAGTRAP_OBJECT_SUCCESSES; i++)
        if (i < function->successes && function->success[i] == (is_small ? low : (__s64)result)) return false;
    switch (function->failure) {
        case LAGTRAP_FAILS_NEGATIVE: return (__s64)result < 0 || (is_small && low < 0);
        case LAGTRAP_FAILS_NULL: return result == 0;
        case LAGTRAP_FAILS_NONZERO: return low != 0;
        case LAGTRAP_FAILS_NOT_POSITIVE: return (__s64)result <= 0 || (is_small && low <= 0);
        case LAGTRAP_FAILS_MINUS_ONE: return low == -1;
        default: return false;
    }
}

struct ending {
    __u64 now_ns;
    __u64 result;
    __u32 left;
    __u32 failed;
};

static __always_inline void describe(struct lagtrap_object_call* call, struct object_thread* thread,
                                     struct object_frame* frame, const struct ending* ending, __u64 probes_ns) {
    struct task_struct* task = bpf_get_current_task_btf();
    call->begin_ns = frame->begin_ns;
    call->end_ns = ending->now_ns;
    call->probes_ns = probes_ns;
    call->off_cpu_ns = thread->off_cpu_ns - frame->off_cpu_ns;
    call->object = frame->object;
    call->result = ending->result;
    call->taken_bytes = thread->taken_bytes - frame->taken_bytes;
    call->given_bytes = thread->given_bytes - frame->given_bytes;
    call->resident_pages = resident_pages(task) - frame->resident_pages;
    call->allocations = thread->allocations - frame->allocations;
    call->function = frame->function;
    call->tid = task->pid;
    call->error_number = ending->failed && !ending->left ? error_number(task) : 0;
    call->state = frame->state;
    call->failed = ending->failed;
    call->left = ending->left;
    call->depth = thread->depth;
    bpf_get_current_comm(call->comm, sizeof(call->comm));
}

static __noinline void send_texts(struct object_thread* thread, struct object_frame* frame, struct ending* ending,
                                  __u64 probes_ns) {
    struct lagtrap_object_totals* all = all_totals();
    if (!thread || !frame || !ending || !all) return;
    struct lagtrap_object_call_texts* call = bpf_ringbuf_reserve(&object_calls, sizeof(*call), 0);
    if (!call) {
        __sync_fetch_and_add(&all->not_sent, 1);
        return;
    }
    describe(&call->call, thread, frame, ending, probes_ns);
    call->call.has_texts = 1;
    __builtin_memcpy(call->title, frame->title, sizeof(call->title));
    bool thrown = ending->left && ending->failed;
    __builtin_memcpy(call->thrown_type, thread->thrown_type, sizeof(call->thrown_type));
    __builtin_memcpy(call->thrown_text, thread->thrown_text, sizeof(call->thrown_text));
    if (!thrown) call->thrown_type[0] = call->thrown_text[0] = 0;
    bpf_ringbuf_submit(call, BPF_RB_NO_WAKEUP);
    __sync_fetch_and_add(&all->sent, 1);
}

static __noinline void send(struct object_thread* thread, struct object_frame* frame, struct ending* ending,
                            __u64 probes_ns) {
    struct lagtrap_object_totals* all = all_totals();
    if (!thread || !frame || !ending || !all) return;
    struct lagtrap_object_call* call = bpf_ringbuf_reserve(&object_calls, sizeof(*call), 0);
    if (!call) {
        __sync_fetch_and_add(&all->not_sent, 1);
        return;
    }
    describe(call, thread, frame, ending, probes_ns);
    call->has_texts = 0;
    bpf_ringbuf_submit(call, BPF_RB_NO_WAKEUP);
    __sync_fetch_and_add(&all->sent, 1);
}

static __noinline void send_message(struct object_frame* frame, __u64 text) {
    if (!frame || !text) return;
    struct lagtrap_object_message* message = bpf_ringbuf_reserve(&object_calls, sizeof(*message), 0);
    struct lagtrap_object_totals* all = all_totals();
    if (!message) {
        if (all) __sync_fetch_and_add(&all->not_sent, 1);
        return;
    }
    message->at_ns = bpf_ktime_get_ns();
    message->function = frame->function;
    message->tid = bpf_get_current_pid_tgid();
    if (bpf_probe_read_user_str(message->text, sizeof(message->text), (const void*)text) < 0) message->text[0] = 0;
    bpf_ringbuf_submit(message, BPF_RB_NO_WAKEUP);
}

/* The innermost open call ends; `depth` is its number from 1. */
static __noinline void end_call(struct object_thread* thread, __u32 depth, struct ending* ending) {
    __u32 place = depth - 1;
    struct object_frame* frame = thread && ending ? frame_at(thread, place) : NULL;
    if (!frame) return;
    struct lagtrap_object_function* function = function_of(frame->function);
    struct lagtrap_object_totals* all = all_totals();
    thread->depth = place;
    if (!function || !all) return;
    struct object_frame* caller = frame_at(thread, place - 1);
    if (function->role == LAGTRAP_OBJECT_MESSAGE) {
        if (!ending->left)
            send_message(frame, function->object_from == LAGTRAP_FROM_RESULT ? ending->result : frame->place);
        if (caller) caller->probes_ns += frame->probes_ns + function->inside_ns + function->around_ns;
        return;
    }
    /* When it ended nobody knows. */
    bool unknown_end = ending->left && function->taken_out;
    bool thrown = ending->left && thread->thrown_ns > frame->begin_ns;
    bool failed = ending->left ? thrown && !unknown_end : result_fails(function, ending->result);
    if (!ending->left) {
        if (function->object_behind && frame->place) {
            __u64 object = 0;
            bpf_probe_read_user(&object, sizeof(object), (const void*)frame->place);
            frame->object = object;
        } else if (function->object_from == LAGTRAP_FROM_RESULT) {
            frame->object =
                ending->result >> 32 == 0 && function->reused ? (__u64)(__s64)(__s32)ending->result : ending->result;
        }
    }
    if (function->role == LAGTRAP_OBJECT_CREATE && (!ending->left || frame->inserted))
        end_creation(thread, place, failed || ending->left);
    __u64 whole_ns = less(ending->now_ns, frame->begin_ns);
    __u64 probes_ns = frame->probes_ns + function->inside_ns;
    __u64 net_ns = less(whole_ns, probes_ns);
    if (caller) caller->probes_ns += probes_ns + function->around_ns;
    if (unknown_end) return;
    __sync_fetch_and_add(&function->calls, 1);
    __sync_fetch_and_add(&function->elapsed_ns, net_ns);
    if (failed) {
        __sync_fetch_and_add(&function->failures, 1);
        struct lagtrap_object_class* class = class_of(function->class_number);
        if (class) __sync_fetch_and_add(&class->failures, 1);
    }
    ending->failed = failed;
    bool wanted = failed || frame->wanted || net_ns >= all->least_ns || function->role != LAGTRAP_OBJECT_USE ||
                  frame->state == LAGTRAP_OBJECT_AFTER;
    if (!wanted) return;
    if (caller) caller->wanted = 1;
    if (!failed && (all->room <= 0 || __sync_fetch_and_add(&all->room, -1) <= 0)) {
        __sync_fetch_and_add(&all->not_sent, 1);
        return;
    }
    if (frame->title[0] || thrown) {
        send_texts(thread, frame, ending, probes_ns);
    } else {
        send(thread, frame, ending, probes_ns);
    }
}

/* A walk from the innermost open call outwards. */
struct frame_walk {
    struct object_thread* thread;
    __u64 stack_pointer;
    __u64 now_ns;
    __u32 function; /* that begins, or ends */
    __u32 found;    /* out: the call's number from 1 */
    __u32 place;    /* that is looked at next, from 1 */
    __u32 shared;   /* whichever function it is */
    __u32 relinking;
};

/* Ends a call that cannot be open any more when one begins at this place of the stack. `found`: that one is known. */
static long end_left(__u32 index, struct frame_walk* walk) {
    struct object_thread* thread = walk->thread;
    __u32 depth = thread->depth;
    struct object_frame* frame = frame_at(thread, depth - 1);
    if (!frame || frame->stack_pointer > walk->stack_pointer) return 1;
    if (frame->stack_pointer == walk->stack_pointer) {
        if (walk->relinking && frame->function == walk->function) {
            walk->found = depth;
            return 1;
        }
    } else if (!on_one_stack(frame->stack_pointer, walk->stack_pointer)) {
        return 1;
    }
    struct ending ending = {.now_ns = walk->now_ns, .left = 1};
    end_call(thread, depth, &ending);
    return 0;
}

/* Finds the open call that ends here. Only what lies deeper can have been left without being seen. */
static long find_ended(__u32 index, struct frame_walk* walk) {
    struct object_frame* frame = frame_at(walk->thread, walk->place - 1);
    if (!frame) return 1;
    if (frame->stack_pointer == walk->stack_pointer && (walk->shared || frame->function == walk->function)) {
        walk->found = walk->place;
        return 1;
    }
    if (frame->stack_pointer > walk->stack_pointer && on_one_stack(frame->stack_pointer, walk->stack_pointer)) return 1;
    walk->place--;
    return 0;
}

static long end_inner(__u32 index, struct frame_walk* walk) {
    if (walk->thread->depth <= walk->found) return 1;
    struct ending ending = {.now_ns = walk->now_ns, .left = 1};
    end_call(walk->thread, walk->thread->depth, &ending);
    return 0;
}

/* The object of a call that begins. A method that gives a large value has the place for it before its object. */
static __always_inline void find_object(struct pt_regs* ctx, struct object_frame* frame,
                                        struct lagtrap_object_function* function) {
    if (function->object_from == LAGTRAP_FROM_RESULT || function->object_from == LAGTRAP_FROM_NOWHERE) return;
    __u64 value = register_value(ctx, function->object_from);
    if (function->object_behind || function->role == LAGTRAP_OBJECT_MESSAGE) {
        frame->place = value;
        return;
    }
    frame->object = function->reused ? (__u64)(__s64)(__s32)value : value;
    if (!function->is_method || function->role != LAGTRAP_OBJECT_USE) return;
    struct lagtrap_object_key key = {.object = value, .rule = function->rule};
    if (bpf_map_lookup_elem(&alive, &key)) return;
    key.object = ctx->rsi;
    if (bpf_map_lookup_elem(&alive, &key)) frame->object = ctx->rsi;
}

static __noinline void meet_object(struct object_thread* thread, __u32 place, __u32 role) {
    if (!thread) return;
    if (role == LAGTRAP_OBJECT_USE) use_object(thread, place);
    if (role == LAGTRAP_OBJECT_RELEASE) release_object(thread, place);
    if (role == LAGTRAP_OBJECT_CREATE) begin_creation(thread, place);
}

SEC("uprobe")
int on_object_call(struct pt_regs* ctx) {
    __u32 number = bpf_get_attach_cookie(ctx);
    struct task_struct* task = bpf_get_current_task_btf();
    if (task->tgid != target_pid) return 0;
    struct lagtrap_object_function* function = function_of(number);
    struct lagtrap_object_totals* all = all_totals();
    if (!function || !all) return 0;
    function->hits++;
    __u64 stack_pointer = PT_REGS_SP(ctx), caller = 0;
    if (function->inner_end || function->role == LAGTRAP_OBJECT_CREATE)
        bpf_probe_read_user(&caller, sizeof(caller), (const void*)stack_pointer);
    if (caller >= function->inner_begin && caller < function->inner_end) return 0;
    struct object_thread* thread = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!thread) return 0;
    struct object_frame* innermost = frame_at(thread, thread->depth - 1);
    if (innermost && innermost->stack_pointer <= stack_pointer) {
        __u64 now_ns = bpf_ktime_get_ns();
        struct frame_walk walk = {.thread = thread,
                                  .stack_pointer = stack_pointer,
                                  .now_ns = now_ns,
                                  .function = number,
                                  .relinking = now_ns < all->relinking_until_ns};
        bpf_loop(LAGTRAP_OBJECT_DEPTH, end_left, &walk, 0);
        if (walk.found) return 0;
    }
    __u32 place = thread->depth;
    struct object_frame* frame = frame_at(thread, place);
    if (!frame) {
        __sync_fetch_and_add(&all->too_deep, 1);
        return 0;
    }
    frame->stack_pointer = stack_pointer;
    frame->off_cpu_ns = thread->off_cpu_ns;
    frame->taken_bytes = thread->taken_bytes;
    frame->given_bytes = thread->given_bytes;
    frame->allocations = thread->allocations;
    frame->probes_ns = 0;
    frame->object = frame->place = 0;
    frame->caller = caller;
    frame->resident_pages = resident_pages(task);
    frame->function = number;
    frame->state = frame->inserted = frame->wanted = 0;
    frame->title[0] = 0;
    find_object(ctx, frame, function);
    if (function->title_from != LAGTRAP_FROM_NOWHERE && function->title_from != LAGTRAP_FROM_RESULT) {
        __u64 text = register_value(ctx, function->title_from);
        if (text && bpf_probe_read_user_str(frame->title, sizeof(frame->title), (const void*)text) < 0)
            frame->title[0] = 0;
    }
    thread->depth = place + 1;
    frame->begin_ns = bpf_ktime_get_ns();
    if (frame->object || function->reused)
        meet_object(thread, place, frame->object || function->role != LAGTRAP_OBJECT_CREATE ? function->role : 0);
    frame->begin_ns = bpf_ktime_get_ns();
    return 0;
}

static __always_inline int on_left(struct pt_regs* ctx, __u32 number, __u64 stack_pointer, bool shared) {
    __u64 now_ns = bpf_ktime_get_ns();
    struct task_struct* task = bpf_get_current_task_btf();
    if (task->tgid != target_pid) return 0;
    struct object_thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    __u32 depth = thread ? thread->depth : 0;
    struct object_frame* innermost = thread ? frame_at(thread, depth - 1) : NULL;
    /* Ends of a function to which another one jumps are hit by all who call it. */
    if (shared && (!innermost || innermost->stack_pointer > stack_pointer)) {
        struct lagtrap_object_function* function = function_of(number);
        if (function) function->hits++;
    }
    if (!thread || !innermost) return 0;
    if (innermost->stack_pointer != stack_pointer || (!shared && innermost->function != number)) {
        struct frame_walk walk = {.thread = thread,
                                  .stack_pointer = stack_pointer,
                                  .now_ns = now_ns,
                                  .function = number,
                                  .place = depth,
                                  .shared = shared};
        bpf_loop(LAGTRAP_OBJECT_DEPTH, find_ended, &walk, 0);
        if (!walk.found) return 0;
        bpf_loop(LAGTRAP_OBJECT_DEPTH, end_inner, &walk, 0);
        depth = walk.found;
    }
    struct ending ending = {.now_ns = now_ns, .result = ctx->rax};
    end_call(thread, depth, &ending);
    return 0;
}

SEC("uprobe") /* instructions that leave a function, some under a condition */
int on_object_exit(struct pt_regs* ctx) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    if (!leaves_function(ctx, cookie)) return 0;
    return on_left(ctx, cookie, PT_REGS_SP(ctx), cookie & LAGTRAP_COOKIE_EXIT_SHARED);
}

SEC("uretprobe") /* when the return address has been taken off the stack */
int on_object_return(struct pt_regs* ctx) {
    return on_left(ctx, bpf_get_attach_cookie(ctx), PT_REGS_SP(ctx) - sizeof(__u64), false);
}

static __always_inline struct object_thread* thread_in_call(void) {
    struct task_struct* task = bpf_get_current_task_btf();
    if (task->tgid != target_pid) return NULL;
    struct object_thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    return thread && thread->depth ? thread : NULL;
}

/* Itanium C++ ABI: a type's name is the second word of its type_info, its only base the third one. */
#define TYPE_NAME 8
#define TYPE_BASE 16
#define MOST_BASES 6

/* std::runtime_error and std::logic_error, of which std::exception's text is the first member. */
static __always_inline bool has_text(__u64 name) {
    char text[20] = {};
    if (bpf_probe_read_user_str(text, sizeof(text), (const void*)name) < 0) return false;
    const char runtime[] = "St13runtime_error", logic[] = "St11logic_error";
    bool is_runtime = true, is_logic = true;
#pragma unroll
    for (int i = 0; i < sizeof(runtime); i++) is_runtime = is_runtime && text[i] == runtime[i];
#pragma unroll
    for (int i = 0; i < sizeof(logic); i++) is_logic = is_logic && text[i] == logic[i];
    return is_runtime || is_logic;
}

SEC("uprobe") /* __cxa_throw(object, type, destructor) */
int on_throw(struct pt_regs* ctx) {
    struct object_thread* thread = thread_in_call();
    if (!thread) return 0;
    __u64 object = ctx->rdi, type = ctx->rsi, name = 0;
    thread->thrown_ns = bpf_ktime_get_ns();
    thread->thrown_type[0] = thread->thrown_text[0] = 0;
    if (bpf_probe_read_user(&name, sizeof(name), (const void*)(type + TYPE_NAME))) return 0;
    bpf_probe_read_user_str(thread->thrown_type, sizeof(thread->thrown_type), (const void*)name);
    for (int i = 0; i < MOST_BASES; i++) {
        if (has_text(name)) {
            __u64 text = 0;
            if (!bpf_probe_read_user(&text, sizeof(text), (const void*)(object + sizeof(__u64))))
                bpf_probe_read_user_str(thread->thrown_text, sizeof(thread->thrown_text), (const void*)text);
            return 0;
        }
        if (bpf_probe_read_user(&type, sizeof(type), (const void*)(type + TYPE_BASE))) return 0;
        if (bpf_probe_read_user(&name, sizeof(name), (const void*)(type + TYPE_NAME))) return 0;
    }
    return 0;
}

SEC("uprobe") /* __cxa_begin_catch: what its caller called has been left */
int on_catch(struct pt_regs* ctx) {
    struct object_thread* thread = thread_in_call();
    if (!thread) return 0;
    struct frame_walk walk = {.thread = thread, .stack_pointer = PT_REGS_SP(ctx), .now_ns = bpf_ktime_get_ns()};
    bpf_loop(LAGTRAP_OBJECT_DEPTH, end_left, &walk, 0);
    return 0;
}

/* The size of a block of glibc's allocator, as it stands before it: malloc/malloc.c, struct malloc_chunk. */
static __always_inline __u64 block_bytes(__u64 block) {
    __u64 size = 0;
    if (!block || bpf_probe_read_user(&size, sizeof(size), (const void*)(block - sizeof(size)))) return 0;
    return size & ~7ULL;
}

static __always_inline struct object_thread* thread_of_memory(__u32 number) {
    struct task_struct* task = bpf_get_current_task_btf();
    if (task->tgid != target_pid) return NULL;
    struct lagtrap_object_function* function = function_of(number);
    if (!function) return NULL;
    function->hits++;
    struct object_thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    if (!thread) return NULL;
    struct object_frame* innermost = frame_at(thread, thread->depth - 1);
    if (!innermost) return NULL;
    innermost->probes_ns += function->inside_ns + function->around_ns;
    return thread;
}

SEC("uprobe") /* free, and what has to be known before a block is there */
int on_memory_call(struct pt_regs* ctx) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    struct object_thread* thread = thread_of_memory(cookie);
    if (!thread) return 0;
    __u32 kind = cookie >> LAGTRAP_COOKIE_MEMORY_SHIFT;
    if (kind == LAGTRAP_MEMORY_GIVE) {
        if (!thread->in_change) thread->given_bytes += block_bytes(ctx->rdi);
    } else if (kind == LAGTRAP_MEMORY_CHANGE) {
        thread->changed_bytes = block_bytes(ctx->rdi);
        thread->in_change = 1;
    } else {
        thread->memory_place = ctx->rdi;
    }
    return 0;
}

SEC("uretprobe")
int on_memory_return(struct pt_regs* ctx) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    struct object_thread* thread = thread_of_memory(cookie);
    if (!thread) return 0;
    __u32 kind = cookie >> LAGTRAP_COOKIE_MEMORY_SHIFT;
    __u64 block = ctx->rax;
    if (kind == LAGTRAP_MEMORY_CHANGE) {
        if (!thread->in_change) return 0;
        thread->in_change = 0;
        if (!block) return 0;
        thread->given_bytes += thread->changed_bytes;
    } else if (thread->in_change) {
        return 0;
    } else if (kind == LAGTRAP_MEMORY_TAKE_BEHIND) {
        __u64 place = thread->memory_place;
        if ((__s32)block != 0 || bpf_probe_read_user(&block, sizeof(block), (const void*)place)) return 0;
    }
    if (!block) return 0;
    thread->taken_bytes += block_bytes(block);
    thread->allocations++;
    return 0;
}
