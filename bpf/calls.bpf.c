/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Call trees of one process: every call below a target function, by thread.
 *
 * A frame is identified by its stack pointer. A call that is left without returning (exception,
 * longjmp) is detected at the next event of a caller, or of a function at or above its place on
 * the same stack.
 *
 * In a Go program, the tree belongs to a goroutine, and a frame is identified by its depth in
 * the goroutine's stack, which may move.
 *
 * Uprobe programs may be preempted. A thread's tree and state are written by programs running in
 * that thread, and by the scheduler's tracepoints; that is why sums of times are read with a
 * check (thread_sums).
 */
#include "bpf/calls.h"

#include "bpf/goroutine.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/stack_range.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ENOUGH_TRIES 4

const volatile __u32 goid_offset =
    0; /* for a Go program: offset of a goroutine's number in its structure */

/* Number of open trees; user space decrements it for trees that it ends itself. At 0, a hit of a
 * function that is not a target skips looking up its thread. A thread always counts its own
 * tree. */
__u32 open_trees = 0;

static __always_inline bool is_of_no_tree(bool is_target) {
    return !is_target && !*(volatile __u32*)&open_trees;
}

#define TRACED_FUNCTION struct lagtrap_probed_function
#define TRACED_FUNCTIONS LAGTRAP_CALL_FUNCTIONS
#define TRACED_TOTALS struct lagtrap_call_totals
#define TRACED_RECORDS 4096 /* numbers of completed trees */
#define TRACED_NOTHING_OPEN() is_of_no_tree(false)
#include "bpf/traced_functions.bpf.h"

struct thread {
    __u32 tree_and_1; /* 0: no outermost call is open */
    __u32 last_tree;  /* index of its previous tree */
    __u32 changes;    /* incremented when the times below change */
    __u32 state;      /* enum lagtrap_thread_state */
    __u64 since_ns;
    __u64 ran_ns; /* when it last left a CPU, by the kernel's run time count */
    __u64 on_cpu_ns;
    __u64 runnable_ns;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

/* Goroutines that have a tree, by number. The scheduler's programs do not see these. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 2 * LAGTRAP_CALL_TREES);
    __type(key, __u64);
    __type(value, struct thread);
} goroutines SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_CALL_TREES);
    __type(key, __u32);
    __type(value, struct lagtrap_call_tree);
} trees SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_CALL_TREES* LAGTRAP_CALL_NODES);
    __type(key, __u32);
    __type(value, struct lagtrap_call_node);
} nodes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LAGTRAP_INDIRECT_SITES);
    __type(key, __u32);
    __type(value, struct lagtrap_indirect_site);
} indirect_sites SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LAGTRAP_SEEN_TARGETS);
    __type(key, __u64);
    __type(value, struct lagtrap_seen);
} seen_targets SEC(".maps");

static __always_inline struct lagtrap_call_node* node_of(__u32 tree, __u32 number) {
    __u32 index = tree * LAGTRAP_CALL_NODES + number;
    return number < LAGTRAP_CALL_NODES ? bpf_map_lookup_elem(&nodes, &index) : NULL;
}

struct sums {
    __u64 on_cpu_ns;
    __u64 runnable_ns;
};

/* For the running thread. Retries if a switch in between changed the sums. */
static __always_inline void thread_sums(struct thread* thread, __u64* now_ns, struct sums* sums) {
    volatile struct thread* changing = thread;
    for (int i = 0; i < ENOUGH_TRIES; i++) {
        __u32 changes = changing->changes;
        __u64 since_ns = changing->since_ns;
        sums->on_cpu_ns = changing->on_cpu_ns;
        sums->runnable_ns = changing->runnable_ns;
        *now_ns = bpf_ktime_get_ns();
        sums->on_cpu_ns += *now_ns - since_ns;
        if (changing->changes == changes) return;
    }
}

static __always_inline void change_state(struct thread* thread, __u32 state, __u64 now_ns) {
    __u64 length_ns = now_ns - thread->since_ns;
    if (thread->state == LAGTRAP_THREAD_ON_CPU) thread->on_cpu_ns += length_ns;
    if (thread->state == LAGTRAP_THREAD_RUNNABLE) thread->runnable_ns += length_ns;
    thread->state = state;
    thread->since_ns = now_ns;
    *(volatile __u32*)&thread->changes = thread->changes + 1;
}

/* As in thread_times.bpf.h: for a thread that was not seen to get its CPU. */
static __always_inline void come_to_cpu_late(struct thread* thread, __u64 ran_ns) {
    __u64 now_ns = bpf_ktime_get_ns();
    __u64 length_ns = now_ns - thread->since_ns, on_cpu_ns = ran_ns - thread->ran_ns;
    change_state(thread, LAGTRAP_THREAD_ON_CPU,
                 now_ns - (on_cpu_ns < length_ns ? on_cpu_ns : length_ns));
}

static __always_inline struct thread* timed_thread(struct task_struct* task) {
    if (task->tgid != target_pid) return NULL;
    struct thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    return thread && thread->tree_and_1 ? thread : NULL;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(count_switch, bool preempt, struct task_struct* prev, struct task_struct* next,
             unsigned int prev_state) {
    struct thread* before = timed_thread(prev);
    if (before) {
        __u64 ran_ns = prev->se.sum_exec_runtime;
        if (before->state != LAGTRAP_THREAD_ON_CPU) come_to_cpu_late(before, ran_ns);
        before->ran_ns = ran_ns;
        change_state(
            before,
            wants_cpu(prev, preempt, prev_state) ? LAGTRAP_THREAD_RUNNABLE : LAGTRAP_THREAD_BLOCKED,
            bpf_ktime_get_ns());
    }
    struct thread* after = timed_thread(next);
    if (after) change_state(after, LAGTRAP_THREAD_ON_CPU, bpf_ktime_get_ns());
    return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(count_waking, struct task_struct* wakee) {
    struct thread* thread = timed_thread(wakee);
    if (thread && thread->state == LAGTRAP_THREAD_BLOCKED)
        change_state(thread, LAGTRAP_THREAD_RUNNABLE, bpf_ktime_get_ns());
    return 0;
}

static __always_inline bool claim(__u32 number) {
    struct lagtrap_call_tree* tree = bpf_map_lookup_elem(&trees, &number);
    return tree && tree->state == LAGTRAP_TREE_FREE &&
           __sync_val_compare_and_swap(&tree->state, LAGTRAP_TREE_FREE, LAGTRAP_TREE_OPEN) ==
               LAGTRAP_TREE_FREE;
}

/* Claims a tree for a call that begins now; LAGTRAP_CALL_TREES if none is free. */
static __noinline __u32 claim_tree(__u32 first) {
    for (__u32 i = 0; i < LAGTRAP_CALL_TREES; i++) {
        __u32 number = (first + i) % LAGTRAP_CALL_TREES;
        if (claim(number)) return number;
    }
    return LAGTRAP_CALL_TREES;
}

static __always_inline void begin_tree(struct thread* thread, __u32 tid) {
    __u32 number = claim_tree(thread->last_tree);
    struct lagtrap_call_tree* tree = bpf_map_lookup_elem(&trees, &number);
    if (!tree) {
        struct lagtrap_call_totals* all = all_totals();
        if (all) __sync_fetch_and_add(&all->no_room, 1);
        return;
    }
    tree->tid = tid;
    tree->nodes = 0;
    tree->innermost = LAGTRAP_CALL_NO_PARENT;
    tree->end_ns = 0;
    tree->goroutine = 0;
    bpf_get_current_comm(tree->comm, sizeof(tree->comm));
    thread->last_tree = number;
    thread->state = LAGTRAP_THREAD_ON_CPU;
    thread->on_cpu_ns = thread->runnable_ns = 0;
    thread->since_ns = bpf_ktime_get_ns();
    __sync_fetch_and_add(&open_trees, 1);
    *(volatile __u32*)&thread->tree_and_1 =
        number + 1; /* from now on, the scheduler's programs count */
}

/* Passes the tree to user space, or frees it. */
static __noinline void end_tree(struct thread* thread, struct lagtrap_call_tree* tree,
                                __u64 now_ns) {
    if (!thread || !tree) return;
    __u32 number = thread->tree_and_1 - 1;
    struct lagtrap_call_node* root = number < LAGTRAP_CALL_TREES ? node_of(number, 0) : NULL;
    struct lagtrap_call_totals* all = all_totals();
    *(volatile __u32*)&thread->tree_and_1 = 0;
    __sync_fetch_and_add(&open_trees, -1);
    if (!root || !all) return;
    __sync_fetch_and_add(&all->trees, 1);
    tree->end_ns = now_ns;
    if (now_ns - root->begin_ns < all->limits.min_ns) {
        __sync_fetch_and_add(&all->short_trees, 1);
        __sync_lock_test_and_set(&tree->state, LAGTRAP_TREE_FREE);
        return;
    }
    __sync_lock_test_and_set(&tree->state, LAGTRAP_TREE_DONE);
    if (bpf_ringbuf_output(&records, &number, sizeof(number), 0) == 0) return;
    __sync_fetch_and_add(&all->lost, 1);
    __sync_lock_test_and_set(&tree->state, LAGTRAP_TREE_FREE);
}

/* A walk from the innermost open call outwards. */
struct walk {
    __u64 stack_pointer;
    __u32 tree;
    __u32 number;   /* of the node to check next */
    __u32 function; /* that begins or ends */
    __u32 found;    /* out: 1 if `number` is the result */
    __u32 shared;   /* accept any function */
    __u32 padding;
};

struct caller_walk {
    __u64 stack_pointer;
    struct stack_range stack; /* that contains it */
    __u32 tree;
    __u32 number;   /* of the node to check next */
    __u32 caller;   /* out: index of its node */
    __u32 function; /* that begins */
    __u32 found;
    __u32 relinking;
};

/* Finds the open call that ends here. */
static long find_ended(__u32 index, struct walk* walk) {
    struct lagtrap_call_node* node =
        walk->tree < LAGTRAP_CALL_TREES ? node_of(walk->tree, walk->number) : NULL;
    if (!node) return 1;
    walk->found = node->stack_pointer == walk->stack_pointer &&
                  (walk->shared || node->function == walk->function);
    if (walk->found) return 1;
    walk->number = node->parent;
    return 0;
}

/* Finds the caller of what begins at this place of the stack, from the innermost open call
 * outwards: the first call above it on the same stack. Calls in between were left (by an
 * exception, or for another stack). So was a call of the same function at the same place, unless
 * begins may be seen twice. If no call is on the same stack, the caller is the innermost call.
 * `found`: the call is already known. */
static long find_caller(__u32 index, struct caller_walk* walk) {
    struct lagtrap_call_node* node =
        walk->tree < LAGTRAP_CALL_TREES ? node_of(walk->tree, walk->number) : NULL;
    if (!node) return 1;
    if (is_in(&walk->stack, node->stack_pointer)) {
        if (node->stack_pointer > walk->stack_pointer) {
            walk->caller = walk->number;
            return 1;
        }
        if (node->stack_pointer == walk->stack_pointer) {
            bool is_same = node->function == walk->function;
            walk->found = is_same && walk->relinking;
            if (walk->found) return 1;
            if (!is_same) node->end = LAGTRAP_CALL_TAIL;
        }
        walk->caller = node->parent;
    }
    walk->number = node->parent;
    return 0;
}

static __always_inline void add_node(struct thread* thread, __u32 number,
                                     struct lagtrap_call_tree* tree, __u32 function,
                                     __u64 stack_pointer, __u64 cost_ns) {
    __u32 own = tree->nodes;
    struct lagtrap_call_node* node = node_of(number, own);
    if (!node) {
        struct lagtrap_call_node* caller = node_of(number, tree->innermost);
        if (!caller) return;
        caller->left_out++;
        caller->left_out_cost_ns += cost_ns;
        return;
    }
    struct sums sums = {};
    node->function = function;
    node->parent = tree->innermost;
    node->stack_pointer = stack_pointer;
    node->end_ns = 0;
    node->left_out = 0;
    node->left_out_cost_ns = 0;
    node->end = LAGTRAP_CALL_OPEN;
    tree->nodes = own + 1;
    tree->innermost = own;
    __u64 now_ns = 0;
    thread_sums(thread, &now_ns, &sums);
    node->begin_on_cpu_ns = sums.on_cpu_ns;
    node->begin_runnable_ns = sums.runnable_ns;
    node->begin_ns = now_ns;
}

/* Begins a call of a target, or below others of its tree. */
static __always_inline void begin_call(struct thread* thread, __u32 tid, __u32 function,
                                       bool is_target, __u64 stack_pointer, bool of_goroutine,
                                       __u64 cost_ns) {
    if (!thread->tree_and_1) {
        if (!is_target) return;
        begin_tree(thread, tid);
    }
    __u32 number = thread->tree_and_1 - 1;
    struct lagtrap_call_tree* tree = bpf_map_lookup_elem(&trees, &number);
    if (!tree) return;
    struct lagtrap_call_node* innermost = node_of(number, tree->innermost);
    if (innermost && !is_near_below(stack_pointer, innermost->stack_pointer)) {
        struct lagtrap_call_totals* all = all_totals();
        struct caller_walk walk = {
            .stack_pointer = stack_pointer,
            .stack = {.begin = 0, .end = ~0ULL},
            .tree = number,
            .number = tree->innermost,
            .caller = tree->innermost,
            .function = function,
            .relinking = all && bpf_ktime_get_ns() < all->limits.relinking_until_ns};
        if (!of_goroutine) stack_range_of(stack_pointer, &walk.stack);
        bpf_loop(LAGTRAP_CALL_NODES, find_caller, &walk, 0);
        if (walk.found) return;
        tree->innermost = walk.caller;
        if (walk.caller == LAGTRAP_CALL_NO_PARENT) {
            end_tree(thread, tree, bpf_ktime_get_ns());
            if (!is_target) return;
            begin_tree(thread, tid);
            number = thread->tree_and_1 - 1;
            tree = bpf_map_lookup_elem(&trees, &number);
            if (!tree) return;
        }
    }
    add_node(thread, number, tree, function, stack_pointer, cost_ns);
}

/* Counts a hit of an entry. NULL if nothing begins there. */
static __always_inline struct lagtrap_probed_function* hit_entry(struct task_struct* task,
                                                                 __u64 cookie) {
    struct lagtrap_probed_function* probed = is_target(task) ? function_of(cookie) : NULL;
    if (!probed) return NULL;
    probed->hits++;
    return probed->detached || is_of_no_tree(cookie & LAGTRAP_COOKIE_CALL_TARGET) ? NULL : probed;
}

SEC("uprobe")
int on_call(struct pt_regs* ctx) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    bool begins_tree = cookie & LAGTRAP_COOKIE_CALL_TARGET;
    struct task_struct* task = bpf_get_current_task_btf();
    struct lagtrap_probed_function* probed = hit_entry(task, cookie);
    if (!probed) return 0;
    struct thread* thread = bpf_task_storage_get(&threads, task, NULL,
                                                 begins_tree ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
    if (thread)
        begin_call(thread, task->pid, cookie, begins_tree, PT_REGS_SP(ctx), false,
                   probed->inside_ns + probed->around_ns);
    return 0;
}

/* Ignores what runs on a thread's own stack (Go's scheduler, parts of its garbage collector). */
static __always_inline bool find_numbered(struct pt_regs* ctx, struct goroutine* found) {
    return find_goroutine(ctx, goid_offset, found) && !(found->key & LAGTRAP_KEY_NO_GOROUTINE);
}

static __always_inline void note_goroutine(struct thread* thread,
                                           const struct goroutine* goroutine) {
    __u32 number = thread->tree_and_1 - 1;
    struct lagtrap_call_tree* tree = bpf_map_lookup_elem(&trees, &number);
    if (!tree) return;
    tree->goroutine = goroutine->key;
    tree->goroutine_address = goroutine->address;
}

SEC("uprobe") /* after the stack check of a Go function */
int on_go_call(struct pt_regs* ctx) {
    __u64 cookie = bpf_get_attach_cookie(ctx);
    bool begins_tree = cookie & LAGTRAP_COOKIE_CALL_TARGET;
    struct task_struct* task = bpf_get_current_task_btf();
    struct lagtrap_probed_function* probed = hit_entry(task, cookie);
    if (!probed) return 0;
    struct goroutine goroutine = {};
    if (!find_numbered(ctx, &goroutine)) return 0;
    struct thread* thread = bpf_map_lookup_elem(&goroutines, &goroutine.key);
    if (!thread && begins_tree) {
        struct thread none = {.last_tree = bpf_get_smp_processor_id()};
        bpf_map_update_elem(&goroutines, &goroutine.key, &none, BPF_NOEXIST);
        thread = bpf_map_lookup_elem(&goroutines, &goroutine.key);
        if (!thread) {
            struct lagtrap_call_totals* all = all_totals();
            if (all) __sync_fetch_and_add(&all->no_room, 1);
        }
    }
    if (!thread) return 0;
    begin_call(thread, task->pid, cookie, begins_tree, goroutine.stack_place, true,
               probed->inside_ns + probed->around_ns);
    if (thread->tree_and_1)
        note_goroutine(thread, &goroutine);
    else
        bpf_map_delete_elem(&goroutines, &goroutine.key);
    return 0;
}

static __always_inline void end_call(struct thread* thread, __u32 function, __u64 stack_pointer,
                                     bool shared) {
    __u64 now_ns = 0;
    struct sums sums = {};
    thread_sums(thread, &now_ns, &sums);
    __u32 number = thread->tree_and_1 - 1;
    struct lagtrap_call_tree* tree = bpf_map_lookup_elem(&trees, &number);
    if (!tree) return;
    struct lagtrap_call_node* node = node_of(number, tree->innermost);
    if (!node) return;
    if (node->stack_pointer != stack_pointer || (!shared && node->function != function)) {
        struct walk walk = {.stack_pointer = stack_pointer,
                            .tree = number,
                            .number = tree->innermost,
                            .function = function,
                            .shared = shared};
        bpf_loop(LAGTRAP_CALL_NODES, find_ended, &walk, 0);
        if (!walk.found) return;
        node = node_of(number, walk.number);
        if (!node) return;
    }
    node->end = LAGTRAP_CALL_RETURNED;
    node->end_ns = now_ns;
    node->end_on_cpu_ns = sums.on_cpu_ns;
    node->end_runnable_ns = sums.runnable_ns;
    tree->innermost = node->parent;
    if (node->parent == LAGTRAP_CALL_NO_PARENT) end_tree(thread, tree, now_ns);
}

static __always_inline int on_left(struct pt_regs* ctx, __u32 function, __u64 stack_pointer,
                                   bool shared) {
    struct task_struct* task = bpf_get_current_task_btf();
    if (!is_target(task)) return 0;
    struct thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    if (thread && thread->tree_and_1) end_call(thread, function, stack_pointer, shared);
    return 0;
}

SEC("uprobe")
int on_go_exit(struct pt_regs* ctx) {
    if (is_of_no_tree(false)) return 0;
    __u64 cookie = bpf_get_attach_cookie(ctx);
    if (!leaves_function(ctx, cookie)) return 0;
    struct task_struct* task = bpf_get_current_task_btf();
    if (!is_target(task)) return 0;
    struct goroutine goroutine = {};
    if (!find_numbered(ctx, &goroutine)) return 0;
    struct thread* thread = bpf_map_lookup_elem(&goroutines, &goroutine.key);
    if (!thread || !thread->tree_and_1) return 0;
    end_call(thread, cookie, goroutine.stack_place, cookie & LAGTRAP_COOKIE_EXIT_SHARED);
    if (!thread->tree_and_1) bpf_map_delete_elem(&goroutines, &goroutine.key);
    return 0;
}

static __always_inline void note_target(__u64 target, __u32 function) {
    struct lagtrap_seen* seen = bpf_map_lookup_elem(&seen_targets, &target);
    if (seen) {
        seen->hits++;
        return;
    }
    struct lagtrap_seen first = {.hits = 1, .function = function};
    bpf_map_update_elem(&seen_targets, &target, &first, BPF_NOEXIST);
}

static __always_inline void look_at_call(struct pt_regs* ctx, struct thread* thread,
                                         __u64 cost_ns) {
    __u32 site_id = bpf_get_attach_cookie(ctx);
    struct lagtrap_indirect_site* site = bpf_map_lookup_elem(&indirect_sites, &site_id);
    if (!site) return;
    note_target(usdt_argument(ctx, &site->target), site->function);
    __u32 number = thread->tree_and_1 - 1;
    struct lagtrap_call_tree* tree = bpf_map_lookup_elem(&trees, &number);
    struct lagtrap_call_node* innermost = tree ? node_of(number, tree->innermost) : NULL;
    if (innermost) innermost->left_out_cost_ns += cost_ns;
}

/* Counts a hit of an indirect call; NULL if it is of another process. */
static __always_inline struct lagtrap_call_totals* hit_indirect(struct task_struct* task) {
    struct lagtrap_call_totals* all = is_target(task) ? all_totals() : NULL;
    if (all) __sync_fetch_and_add(&all->indirect_hits, 1);
    return all;
}

SEC("uprobe") /* calls through pointers, watched for a while; their targets are watched from then on
               */
int on_indirect_call(struct pt_regs* ctx) {
    struct task_struct* task = bpf_get_current_task_btf();
    struct lagtrap_call_totals* all = hit_indirect(task);
    if (!all) return 0;
    struct thread* thread = bpf_task_storage_get(&threads, task, NULL, 0);
    if (thread && thread->tree_and_1) look_at_call(ctx, thread, all->indirect_cost_ns);
    return 0;
}

SEC("uprobe")
int on_go_indirect_call(struct pt_regs* ctx) {
    struct lagtrap_call_totals* all = hit_indirect(bpf_get_current_task_btf());
    if (!all || is_of_no_tree(false)) return 0;
    struct goroutine goroutine = {};
    if (!find_numbered(ctx, &goroutine)) return 0;
    struct thread* thread = bpf_map_lookup_elem(&goroutines, &goroutine.key);
    if (thread && thread->tree_and_1) look_at_call(ctx, thread, all->indirect_cost_ns);
    return 0;
}

static __always_inline int on_thread_end(struct task_struct* task) {
    struct thread* thread = timed_thread(task);
    if (!thread) return 0;
    __u32 number = thread->tree_and_1 - 1;
    struct lagtrap_call_tree* tree = bpf_map_lookup_elem(&trees, &number);
    struct lagtrap_call_node* root = tree ? node_of(number, 0) : NULL;
    if (root) root->end = LAGTRAP_CALL_THREAD_END;
    end_tree(thread, tree, bpf_ktime_get_ns());
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_of_thread, struct task_struct* task) { return on_thread_end(task); }

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec_of_thread, struct task_struct* task) { return on_thread_end(task); }
