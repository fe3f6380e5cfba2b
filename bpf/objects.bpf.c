/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Objects of one process: what creates, uses and releases them, how much time and memory that
 * took, and whether it failed.
 *
 * A frame is identified by its stack pointer, as in calls.bpf.c. Uprobe programs may be
 * preempted. A thread's state is written by programs running in that thread, and by the
 * scheduler's tracepoint, which adds to a single sum.
 */
#include "bpf/objects.h"

#include "bpf/kernel.bpf.h"
#include "bpf/object_ends.bpf.h"
#include "bpf/object_life.bpf.h"
#include "bpf/object_threads.bpf.h"
#include "bpf/thrown_text.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

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

static __always_inline void end_left_call(struct object_thread* thread, __u32 depth, __u64 now_ns) {
    struct ending ending = {.now_ns = now_ns, .left = 1};
    end_call(thread, depth, &ending);
}

#define OPEN_CALLS_THREAD struct object_thread
#define OPEN_CALLS_FRAME struct object_frame
#include "bpf/open_calls.bpf.h"

/* Ends a call that can no longer be open when one begins at this place of the stack. `found`:
 * the call that begins is already known. */
static long end_left(__u32 index, struct open_call_walk* walk) {
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
    end_left_call(thread, depth, walk->now_ns);
    return 0;
}

/* The object of a call that begins. If a method returns a large value, the address for it
 * precedes the object. */
static __always_inline void find_object(struct pt_regs* ctx, struct object_frame* frame,
                                        struct lagtrap_object_function* function) {
    if (function->object_from == LAGTRAP_FROM_RESULT ||
        function->object_from == LAGTRAP_FROM_NOWHERE)
        return;
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
int on_call(struct pt_regs* ctx) {
    __u32 number = bpf_get_attach_cookie(ctx);
    struct task_struct* task = bpf_get_current_task_btf();
    if (!is_target(task)) return 0;
    struct lagtrap_object_function* function = function_of(number);
    struct lagtrap_object_totals* all = all_totals();
    if (!function || !all) return 0;
    function->probes.hits++;
    __u64 stack_pointer = PT_REGS_SP(ctx), caller = 0;
    if (function->inner_end || function->role == LAGTRAP_OBJECT_CREATE)
        bpf_probe_read_user(&caller, sizeof(caller), (const void*)stack_pointer);
    if (caller >= function->inner_begin && caller < function->inner_end) return 0;
    struct object_thread* thread =
        bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!thread) return 0;
    struct object_frame* innermost = frame_at(thread, thread->depth - 1);
    if (innermost && innermost->stack_pointer <= stack_pointer) {
        __u64 now_ns = bpf_ktime_get_ns();
        struct open_call_walk walk = {.thread = thread,
                                      .stack_pointer = stack_pointer,
                                      .now_ns = now_ns,
                                      .function = number,
                                      .relinking = now_ns < all->limits.relinking_until_ns};
        bpf_loop(LAGTRAP_OBJECT_DEPTH, end_left, &walk, 0);
        if (walk.found) return 0;
    }
    thread->memory_stack_pointer = 0; /* left at most by an exception */
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
    frame->stack = frame->jumped_ns = 0;
    frame->state = frame->inserted = frame->wanted = frame->shares_stack = 0;
    frame->title[0] = 0;
    find_object(ctx, frame, function);
    if (function->title_from != LAGTRAP_FROM_NOWHERE &&
        function->title_from != LAGTRAP_FROM_RESULT) {
        __u64 text = register_value(ctx, function->title_from);
        if (text &&
            bpf_probe_read_user_str(frame->title, sizeof(frame->title), (const void*)text) < 0)
            frame->title[0] = 0;
    }
    thread->depth = place + 1;
    frame->begin_ns = bpf_ktime_get_ns();
    if (frame->object || function->reused)
        meet_object(thread, place,
                    frame->object || function->role != LAGTRAP_OBJECT_CREATE ? function->role : 0);
    if (function->role == LAGTRAP_OBJECT_CREATE && frame->state != LAGTRAP_OBJECT_WITHIN) {
        __u64 from_ns = bpf_ktime_get_ns();
        find_creation_stack(frame, task);
        struct object_frame* outer = frame_at(thread, place - 1);
        if (outer) outer->probes_ns += bpf_ktime_get_ns() - from_ns;
    }
    frame->begin_ns = bpf_ktime_get_ns();
    return 0;
}

static __always_inline int on_left(struct pt_regs* ctx, __u32 number, __u64 stack_pointer,
                                   bool shared) {
    __u64 now_ns = bpf_ktime_get_ns();
    struct task_struct* task = bpf_get_current_task_btf();
    if (!is_target(task)) return 0;
    struct object_thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    __u32 depth = thread ? thread->depth : 0;
    struct object_frame* innermost = thread ? frame_at(thread, depth - 1) : NULL;
    /* Exits of a function that others jump to are hit by all their callers. */
    if (shared && (!innermost || innermost->stack_pointer > stack_pointer)) {
        struct lagtrap_object_function* function = function_of(number);
        if (function) function->probes.hits++;
    }
    if (!thread || !innermost) return 0;
    depth = find_end_of_call(thread, LAGTRAP_OBJECT_DEPTH, stack_pointer, number, shared, now_ns);
    if (!depth) return 0;
    struct ending ending = {.now_ns = now_ns, .result = ctx->rax};
    end_call(thread, depth, &ending);
    return 0;
}

SEC("uprobe") /* a tail call of the allocator, by which a function frees its object's memory */
int on_object_jump(struct pt_regs* ctx) {
    struct lagtrap_object_totals* all = all_totals();
    if (!all) return 0;
    if (all->memory_is_out) return on_left(ctx, bpf_get_attach_cookie(ctx), PT_REGS_SP(ctx), false);
    struct task_struct* task = bpf_get_current_task_btf();
    if (!is_target(task)) return 0;
    struct object_thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    struct object_frame* innermost = thread ? frame_at(thread, thread->depth - 1) : NULL;
    if (innermost && innermost->stack_pointer == PT_REGS_SP(ctx))
        innermost->jumped_ns = bpf_ktime_get_ns();
    return 0;
}

static __always_inline struct object_thread* thread_in_call(void) {
    struct task_struct* task = bpf_get_current_task_btf();
    if (!is_target(task)) return NULL;
    struct object_thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    return thread && thread->depth ? thread : NULL;
}

SEC("uprobe") /* __cxa_throw(object, type, destructor) */
int on_throw(struct pt_regs* ctx) {
    struct object_thread* thread = thread_in_call();
    if (!thread) return 0;
    __u64 object = ctx->rdi, type = ctx->rsi, name = 0;
    thread->thrown_ns = bpf_ktime_get_ns();
    thread->memory_stack_pointer = 0;
    thread->thrown_type[0] = thread->thrown_text[0] = 0;
    if (bpf_probe_read_user(&name, sizeof(name), (const void*)(type + TYPE_NAME))) return 0;
    bpf_probe_read_user_str(thread->thrown_type, sizeof(thread->thrown_type), (const void*)name);
    for (int i = 0; i < MOST_BASES; i++) {
        if (has_text(name)) {
            __u64 text = 0;
            if (!bpf_probe_read_user(&text, sizeof(text), (const void*)(object + sizeof(__u64))))
                bpf_probe_read_user_str(thread->thrown_text, sizeof(thread->thrown_text),
                                        (const void*)text);
            return 0;
        }
        if (bpf_probe_read_user(&type, sizeof(type), (const void*)(type + TYPE_BASE))) return 0;
        if (bpf_probe_read_user(&name, sizeof(name), (const void*)(type + TYPE_NAME))) return 0;
    }
    return 0;
}

SEC("uprobe") /* __cxa_begin_catch: what its caller called was left */
int on_catch(struct pt_regs* ctx) {
    struct object_thread* thread = thread_in_call();
    if (!thread) return 0;
    struct open_call_walk walk = {
        .thread = thread, .stack_pointer = PT_REGS_SP(ctx), .now_ns = bpf_ktime_get_ns()};
    bpf_loop(LAGTRAP_OBJECT_DEPTH, end_left, &walk, 0);
    return 0;
}

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, LAGTRAP_OBJECT_BLOCKS);
    __type(key, __u64);   /* the block */
    __type(value, __u64); /* its size as requested */
} blocks SEC(".maps");

/* The size of a block; 0 if unknown. glibc's allocator stores it before the block:
 * malloc/malloc.c, struct malloc_chunk. */
static __noinline __u64 block_bytes(__u64 block) {
    if (memory_by_request) {
        __u64* known = bpf_map_lookup_elem(&blocks, &block);
        return known ? *known : 0;
    }
    __u64 size = 0;
    if (!block || bpf_probe_read_user(&size, sizeof(size), (const void*)(block - sizeof(size))))
        return 0;
    return size & ~7ULL;
}

static __always_inline struct object_thread* thread_of_memory(__u32 number) {
    struct task_struct* task = bpf_get_current_task_btf();
    if (!is_target(task)) return NULL;
    struct lagtrap_object_function* function = function_of(number);
    if (!function) return NULL;
    function->probes.hits++;
    struct object_thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    if (!thread) return NULL;
    struct object_frame* innermost = frame_at(thread, thread->depth - 1);
    if (!innermost) return NULL;
    innermost->probes_ns += function->probes.inside_ns + function->probes.around_ns;
    return thread;
}

static __always_inline void note_request(struct pt_regs* ctx, struct object_thread* thread,
                                         __u64 cookie) {
    thread->memory_stack_pointer = PT_REGS_SP(ctx);
    thread->asked_bytes =
        register_value(ctx, cookie >> LAGTRAP_COOKIE_SIZE_SHIFT & LAGTRAP_COOKIE_SIZE_MASK);
    if (cookie & LAGTRAP_COOKIE_SIZE_TIMES) thread->asked_bytes *= ctx->rsi;
}

SEC("uprobe") /* free, and allocations whose arguments must be kept until the block exists */
int on_memory_call(struct pt_regs* ctx) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    struct object_thread* thread = thread_of_memory(cookie);
    if (!thread) return 0;
    /* Inside another allocator call. */
    if (thread->memory_stack_pointer > PT_REGS_SP(ctx)) return 0;
    __u32 kind = cookie >> LAGTRAP_COOKIE_MEMORY_SHIFT & LAGTRAP_COOKIE_MEMORY_MASK;
    if (kind == LAGTRAP_MEMORY_GIVE) {
        __u64 block = ctx->rdi;
        if (thread->in_change) return 0;
        thread->given_bytes += block_bytes(block);
        if (memory_by_request) bpf_map_delete_elem(&blocks, &block);
        return 0;
    }
    if (memory_by_request) note_request(ctx, thread, cookie);
    if (kind == LAGTRAP_MEMORY_CHANGE) {
        thread->changed_bytes = block_bytes(ctx->rdi);
        thread->in_change = 1;
    } else {
        thread->memory_place = ctx->rdi;
    }
    return 0;
}

static __always_inline void take_block(struct object_thread* thread, __u64 block) {
    thread->allocations++;
    if (!memory_by_request) {
        thread->taken_bytes += block_bytes(block);
        return;
    }
    thread->taken_bytes += thread->asked_bytes;
    bpf_map_update_elem(&blocks, &block, &thread->asked_bytes, BPF_ANY);
}

SEC("uprobe") /* instructions that leave operator new, which exceptions may also leave */
int on_memory_exit(struct pt_regs* ctx) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    if (!leaves_function(ctx, cookie)) return 0;
    struct object_thread* thread = thread_of_memory(cookie);
    if (!thread || thread->memory_stack_pointer != PT_REGS_SP(ctx)) return 0;
    thread->memory_stack_pointer = 0;
    if (ctx->rax) take_block(thread, ctx->rax);
    return 0;
}

SEC("uretprobe")
int on_memory_return(struct pt_regs* ctx) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    struct object_thread* thread = thread_of_memory(cookie);
    if (!thread) return 0;
    __u32 kind = cookie >> LAGTRAP_COOKIE_MEMORY_SHIFT & LAGTRAP_COOKIE_MEMORY_MASK;
    __u64 block = ctx->rax;
    if (kind == LAGTRAP_MEMORY_GIVE) {
        struct object_frame* innermost = frame_at(thread, thread->depth - 1);
        if (!innermost || !innermost->jumped_ns) return 0;
        if (innermost->stack_pointer != PT_REGS_SP(ctx) - sizeof(__u64)) return 0;
        struct ending ending = {.now_ns = bpf_ktime_get_ns(), .result = block};
        end_call(thread, thread->depth, &ending);
        return 0;
    }
    if (memory_by_request) {
        if (thread->memory_stack_pointer != PT_REGS_SP(ctx) - sizeof(__u64)) return 0;
        thread->memory_stack_pointer = 0;
    }
    if (kind == LAGTRAP_MEMORY_CHANGE) {
        if (!thread->in_change) return 0;
        thread->in_change = 0;
        if (!block) return 0;
        thread->given_bytes += thread->changed_bytes;
    } else if (thread->in_change) {
        return 0;
    } else if (kind == LAGTRAP_MEMORY_TAKE_BEHIND) {
        __u64 place = thread->memory_place;
        if ((__s32)block != 0 || bpf_probe_read_user(&block, sizeof(block), (const void*)place))
            return 0;
    }
    if (block) take_block(thread, block);
    return 0;
}
