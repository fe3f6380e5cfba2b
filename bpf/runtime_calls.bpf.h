/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Calls that a language runtime reports by its own USDT probes. Part of functions.bpf.c.
 *
 * Interpreters keep frames of their own, so the stack pointer only shows which stack of the
 * thread runs: each fiber has one. Calls on one stack nest: when an outer call ends, those
 * still open inside it were left. Open calls are those on the thread's own stack, and on top of
 * them those of the running fiber; calls on other stacks count as left.
 */
#ifndef LAGTRAP_BPF_RUNTIME_CALLS_BPF_H
#define LAGTRAP_BPF_RUNTIME_CALLS_BPF_H

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LAGTRAP_RUNTIME_SITES);
    __type(key, __u32);
    __type(value, struct lagtrap_runtime_site);
} runtime_sites SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LAGTRAP_RUNTIME_FUNCTIONS); /* 1 if no runtime is watched */
    __type(key, struct lagtrap_runtime_key);
    __type(value, __u32);
} runtime_names SEC(".maps");

#define NO_NUMBER 0xffffffff

struct mm_struct___own_stack {
    unsigned long start_stack;
} KERNEL_TYPE;
struct thread_struct___own_stack {
    unsigned long fsbase;
} KERNEL_TYPE;
struct task_struct___own_stack {
    struct mm_struct___own_stack* mm;
    struct thread_struct___own_stack thread;
} KERNEL_TYPE;

/* `to` has room for `bytes`, a power of two, and is zeroed. */
static __always_inline void read_text(struct pt_regs* ctx, const struct lagtrap_argument* text,
                                      const struct lagtrap_argument* text_length, char* to,
                                      __u64 bytes) {
    const void* from = (const void*)usdt_argument(ctx, text);
    if (text_length->place == LAGTRAP_ARGUMENT_NONE) {
        bpf_probe_read_user_str(to, bytes, from);
        return;
    }
    __u64 length = usdt_argument(ctx, text_length);
    if (length > bytes - 1) length = bytes - 1;
    KEEP_BITS(length, bytes - 1);
    bpf_probe_read_user(to, length, from);
}

static __noinline int read_key(struct pt_regs* ctx, const struct lagtrap_runtime_site* site,
                               struct lagtrap_runtime_key* key) {
    if (!site || !key) return 0;
    __builtin_memset(key, 0, sizeof(*key));
    read_text(ctx, &site->scope, &site->scope_length, key->scope, LAGTRAP_RUNTIME_SCOPE);
    read_text(ctx, &site->name, &site->name_length, key->name, LAGTRAP_RUNTIME_NAME);
    return key->name[0] != 0;
}

/* Assigns a number to a function seen for the first time. If two threads do so at once, the
 * second's hit is not counted. */
static __noinline __u32 new_number(struct pt_regs* ctx, const struct lagtrap_runtime_site* site,
                                   __u32 site_number, struct lagtrap_runtime_key* key) {
    struct lagtrap_traced_totals* all = all_totals();
    if (!all || !site || !key) return NO_NUMBER;
    if (all->next_number >= LAGTRAP_TRACED_FUNCTIONS) return NO_NUMBER;
    struct lagtrap_runtime_function* reported = bpf_ringbuf_reserve(&records, sizeof(*reported), 0);
    if (!reported) return NO_NUMBER;
    __u32 number = NO_NUMBER;
    if (bpf_map_update_elem(&runtime_names, key, &number, BPF_NOEXIST)) {
        bpf_ringbuf_discard(reported, 0);
        return NO_NUMBER;
    }
    number = __sync_fetch_and_add(&all->next_number, 1);
    struct lagtrap_traced_function* function = function_of(number);
    if (!function) {
        bpf_map_delete_elem(&runtime_names, key);
        bpf_ringbuf_discard(reported, 0);
        return NO_NUMBER;
    }
    function->probes.inside_ns = site->inside_ns;
    function->probes.around_ns = site->around_ns;
    reported->number = number;
    reported->site = site_number;
    reported->line = usdt_argument(ctx, &site->line);
    __builtin_memcpy(&reported->key, key, sizeof(reported->key));
    __builtin_memset(reported->file, 0, sizeof(reported->file));
    if (site->file.place != LAGTRAP_ARGUMENT_NONE)
        bpf_probe_read_user_str(reported->file, sizeof(reported->file),
                                (const void*)usdt_argument(ctx, &site->file));
    bpf_ringbuf_submit(reported, 0);
    /* Write in place: an update may fail while another is in progress, and nothing would retry
     * it. */
    __u32* kept = bpf_map_lookup_elem(&runtime_names, key);
    if (kept) *(volatile __u32*)kept = number;
    return number;
}

struct runtime_hit {
    struct runtime_thread* thread;
    struct lagtrap_traced_totals* all;
    struct lagtrap_traced_function* function;
    __u64 trap_ns; /* cost of the trap into the kernel and back */
    __u32 number;
    __u32 flags;
};

/* Whether the hit must be handled. */
static __always_inline bool runtime_hit_of(struct pt_regs* ctx, struct task_struct* task,
                                           struct runtime_hit* hit) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    __u32 site_number = cookie;
    hit->all = all_totals();
    struct lagtrap_runtime_site* site = bpf_map_lookup_elem(&runtime_sites, &site_number);
    if (!site || !hit->all) return false;
    /* Probes being detached still hit, beside those that replaced them. */
    if (cookie >> 32 != hit->all->runtime_epoch) return false;
    hit->thread =
        bpf_task_storage_get(&runtime_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!hit->thread) return false;
    if (hit->thread->epoch != hit->all->runtime_epoch) {
        hit->thread->epoch = hit->all->runtime_epoch;
        hit->thread->calls.depth = 0;
    }
    hit->flags = site->flags;
    hit->trap_ns = (site->inside_ns + site->around_ns) / 2;
    hit->number = NO_NUMBER;
    if (read_key(ctx, site, &hit->thread->key)) {
        __u32* known = bpf_map_lookup_elem(&runtime_names, &hit->thread->key);
        hit->number = known ? *known : new_number(ctx, site, site_number, &hit->thread->key);
    }
    hit->function = function_of(hit->number);
    if (!hit->function) {
        __sync_fetch_and_add(&hit->all->runtime_unnamed, 1);
        return false;
    }
    hit->function->probes.hits++;
    return !hit->function->probes.detached;
}

/* `within`: index, from 1, of the call that was open around the hit. */
static __always_inline void count_runtime_hit(struct runtime_hit* hit, __u32 within, __u64 ns,
                                              bool counted) {
    if (!hit->all) return;
    __sync_fetch_and_add(&hit->all->runtime_hits, 1);
    __sync_fetch_and_add(&hit->all->runtime_ns, ns);
    struct traced_frame* open = hit->thread ? frame_at(&hit->thread->calls, within - 1) : NULL;
    if (!open) return;
    if (!counted) ns += hit->trap_ns;
    open->children_ns += ns;
    open->probes_ns += ns;
}

/* Exits of detached functions are ignored, so their open calls would stay: loading a class opens
 * hundreds. Those on top are dropped when another call begins. */
static long drop_detached(__u32 index, struct open_call_walk* walk) {
    struct traced_frame* frame = frame_at(walk->thread, walk->thread->depth - 1);
    if (!frame) return 1;
    struct lagtrap_traced_function* function = function_of(frame->function);
    if (!function || !function->probes.detached) return 1;
    walk->thread->depth--;
    return 0;
}

struct stack_walk {
    struct traced_thread* thread;
    struct stack_range stack;
    __u64 stack_pointer;
    __u32 number; /* of the function that ends; NO_NUMBER: any */
    __u32 place;  /* next to check, from 1 */
    __u32 found;  /* out: index, from 1, of the innermost open call on the stack */
    __u32 padding;
};

static __always_inline bool is_near(__u64 one, __u64 other) {
    return (one < other ? other - one : one - other) < FAR_BELOW_BYTES;
}

static long find_on_stack(__u32 index, struct stack_walk* walk) {
    struct traced_frame* frame = frame_at(walk->thread, walk->place - 1);
    if (!frame) return 1;
    if ((walk->number == NO_NUMBER || walk->number == frame->function) &&
        (is_near(frame->stack_pointer, walk->stack_pointer) ||
         is_in(&walk->stack, frame->stack_pointer))) {
        walk->found = walk->place;
        return 1;
    }
    walk->place--;
    return 0;
}

/* Index, from 1, of the innermost open call of a function (NO_NUMBER: any) on the stack that
 * contains the address; 0 if there is none. */
static __noinline __u32 innermost_on_stack(struct traced_thread* thread, __u64 stack_pointer,
                                           __u32 number) {
    if (!thread) return 0;
    struct traced_frame* innermost = frame_at(thread, thread->depth - 1);
    if (!innermost) return 0;
    if ((number == NO_NUMBER || number == innermost->function) &&
        is_near(innermost->stack_pointer, stack_pointer))
        return thread->depth;
    struct stack_walk walk = {
        .thread = thread, .stack_pointer = stack_pointer, .number = number, .place = thread->depth};
    find_stack(stack_pointer, &walk.stack);
    bpf_loop(LAGTRAP_TRACED_DEPTH, find_on_stack, &walk, 0);
    return walk.found;
}

/* An address on the thread's original stack: thread-local storage is at its end, or a program's
 * arguments. */
static __always_inline __u64 own_stack_place(struct task_struct* task) {
    if (task->pid == task->tgid)
        return BPF_CORE_READ((struct task_struct___own_stack*)task, mm, start_stack);
    return BPF_CORE_READ((struct task_struct___own_stack*)task, thread.fsbase);
}

/* Ends calls that were left for the stack that runs now. */
static __always_inline void leave_other_stacks(struct traced_thread* thread,
                                               struct task_struct* task, __u64 stack_pointer) {
    __u32 caller = innermost_on_stack(thread, stack_pointer, NO_NUMBER);
    if (!caller) caller = innermost_on_stack(thread, own_stack_place(task), NO_NUMBER);
    if (caller == thread->depth) return;
    struct open_call_walk left = {.thread = thread, .now_ns = bpf_ktime_get_ns(), .found = caller};
    bpf_loop(LAGTRAP_TRACED_DEPTH, end_inner, &left, 0);
}

/* Returns the index, from 1, of the enclosing call. */
static __always_inline __u32 begin_runtime_call(struct runtime_hit* hit, struct task_struct* task,
                                                __u64 stack_pointer) {
    struct traced_thread* thread = &hit->thread->calls;
    struct open_call_walk walk = {.thread = thread};
    bpf_loop(LAGTRAP_TRACED_DEPTH, drop_detached, &walk, 0);
    leave_other_stacks(thread, task, stack_pointer);
    __u32 place = thread->depth;
    open_call(thread, hit->number, stack_pointer);
    return place;
}

SEC("uprobe")
int on_runtime_entry(struct pt_regs* ctx) {
    __u64 began_ns = bpf_ktime_get_ns();
    struct task_struct* task = bpf_get_current_task_btf();
    if (task->tgid != target_pid) return 0;
    struct runtime_hit hit = {};
    bool counted = runtime_hit_of(ctx, task, &hit);
    __u32 within = hit.thread ? hit.thread->calls.depth : 0;
    if (counted) within = begin_runtime_call(&hit, task, PT_REGS_SP(ctx));
    count_runtime_hit(&hit, within, bpf_ktime_get_ns() - began_ns, counted);
    return 0;
}

static __always_inline void end_runtime_call(struct runtime_hit* hit, __u64 now_ns,
                                             __u64 stack_pointer) {
    struct traced_thread* thread = &hit->thread->calls;
    struct open_call_walk walk = {.thread = thread, .now_ns = now_ns};
    walk.found = innermost_on_stack(thread, stack_pointer, hit->number);
    if (!walk.found) {
        if (hit->flags & LAGTRAP_RUNTIME_UNBEGUN) __sync_fetch_and_add(&hit->function->unbegun, 1);
        return;
    }
    bpf_loop(LAGTRAP_TRACED_DEPTH, end_inner, &walk, 0);
    end_call(thread, walk.found, now_ns, LAGTRAP_TRACED_RETURNED);
}

SEC("uprobe")
int on_runtime_return(struct pt_regs* ctx) {
    __u64 began_ns = bpf_ktime_get_ns();
    struct task_struct* task = bpf_get_current_task_btf();
    if (task->tgid != target_pid) return 0;
    struct runtime_hit hit = {};
    bool counted = runtime_hit_of(ctx, task, &hit);
    if (counted) end_runtime_call(&hit, began_ns, PT_REGS_SP(ctx));
    __u32 within = hit.thread ? hit.thread->calls.depth : 0;
    count_runtime_hit(&hit, within, bpf_ktime_get_ns() - began_ns, counted);
    return 0;
}

#endif
