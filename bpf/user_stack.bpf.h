/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The unwinder: finds the frames of a user stack. It is separate so that another method can
 * replace it: callers provide room for LAGTRAP_MAX_FRAMES frames and a struct user_walk, and get
 * the number of frames and the reason why the walk ended.
 *
 * Each frame's module has a table that tells where its caller's frame is (unwind.h). Without
 * unwind information (JIT code, hand-written assembly), it tries the frame pointer and marks the
 * stack.
 *
 * The state of the walk is in map memory, whose values the verifier does not track. On the
 * stack, the verifier of 6.12 and later would try every value of it.
 */
#ifndef LAGTRAP_BPF_USER_STACK_BPF_H
#define LAGTRAP_BPF_USER_STACK_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/records.h"
#include "bpf/unwind.h"

/* The daemon creates these maps once (daemon/unwinding/unwind_store) and substitutes them for
 * the ones declared here. */
struct unwind_region {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_UNWIND_REGION_PAGES);
    __type(key, __u32);
    __uint(value_size, sizeof(struct lagtrap_unwind_page));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, LAGTRAP_UNWIND_MAX_REGIONS);
    __type(key, __u32);
    __array(values, struct unwind_region);
} unwind_regions SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LAGTRAP_UNWIND_MAX_TABLES);
    __type(key, __u32);
    __type(value, struct lagtrap_unwind_table);
} unwind_tables SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, LAGTRAP_UNWIND_MAX_PROCESSES);
    __type(key, __u32); /* the process */
    __type(value, struct lagtrap_unwind_space);
} unwind_processes SEC(".maps");

#ifdef LAGTRAP_WALK_PYTHON
#include "bpf/python.h"

/* What the next step of the walk reads. */
enum python_mode {
    PYTHON_NATIVE = 0,     /* a native frame */
    PYTHON_FIND_ENTRY = 1, /* a Python frame, to find where its call of the interpreter began */
    PYTHON_FRAMES = 2,     /* a Python frame, which belongs to the stack */
};

/* The Python side of a walk (python_frames.bpf.h). */
struct python_walk {
    struct lagtrap_python layout;
    __u64 words[9]; /* a frame, as read */
    __u64 ident;
    __u64 state;    /* of the thread */
    __u64 frame;    /* the next Python frame */
    __u64 entry;    /* in PYTHON_FIND_ENTRY: the frame to look at */
    __u64 anchor;   /* what the call of the interpreter that runs `frame` has on the thread's stack;
                       0: none */
    __u32 mode;     /* enum python_mode */
    __u32 is_named; /* 0: the stack has Python frames whose names may not be written yet */
    __u32 steps;    /* in PYTHON_FIND_ENTRY, of the whole walk */
    __u32 padding;
};
#define MAX_ENTRY_STEPS 254 /* of programs with deeper recursion, native frames are seen alone */
/* Each other step adds a frame, or goes on to another call of the interpreter. */
#define MAX_WALK_STEPS (MAX_ENTRY_STEPS + 3 * LAGTRAP_MAX_FRAMES)
#else
#define MAX_WALK_STEPS (LAGTRAP_MAX_FRAMES + 1)
#endif

/* A walk: its position and its results. */
struct user_walk {
    __u64 pc, sp, bp;
    __u64 rbx_address; /* where this frame's rbx is; 0: unknown */
    __u64 registers;   /* address of this frame's registers; 0: only the three above are known */
    __u64 return_instance; /* kernel address of the next return probe up the stack */
    __u64 return_slot;     /* address of the return address it replaced */
    struct lagtrap_unwind_space space;
    struct lagtrap_unwind_mapping mapping; /* where pc was last found */
    struct lagtrap_unwind_table table;     /* its table */
    __u32 frame_count;
    __u8 end; /* enum lagtrap_stack_end | LAGTRAP_STACK_BY_FRAME_POINTER */
    __u8 pc_is_return_address;
    __u8 registers_in_user_memory; /* in a signal's ucontext, not in the kernel's pt_regs */
    __u8 rbx_in_user_memory;
#ifdef LAGTRAP_WALK_PYTHON
    struct python_walk python;
#endif
};

/* Passed to each step by bpf_loop(); `task` is set for sleeping threads. */
struct walk_context {
    struct user_walk* walk;
    __u64* frames;
    struct task_struct* task;
};

/* Byte offsets in struct pt_regs (x86-64) and in a ucontext's general registers, by DWARF
 * number. */
const volatile __u8 pt_regs_offset[16] = {80, 96, 88, 40, 104, 112, 32, 152,
                                          72, 64, 56, 48, 24,  16,  8,  0};
const volatile __u8 ucontext_offset[16] = {104, 96, 112, 88, 72, 64, 80, 120,
                                           0,   8,  16,  24, 32, 40, 48, 56};
#define BREAKPOINT 0xcc
#define LONGEST_INSTRUCTION 16
#define UCONTEXT_REGISTERS \
    40 /* offset of the general registers in struct ucontext (asm/ucontext.h) */

static __always_inline long read_user(struct walk_context* context, void* to, __u32 size,
                                      __u64 from, bool sleeping) {
    if (sleeping) return bpf_copy_from_user_task(to, size, (void*)from, context->task, 0);
    return bpf_probe_read_user(to, size, (void*)from);
}

static __always_inline struct lagtrap_unwind_page* unwind_page(__u32 page) {
    __u32 region = page / LAGTRAP_UNWIND_REGION_PAGES;
    void* pages = bpf_map_lookup_elem(&unwind_regions, &region);
    if (!pages) return 0;
    __u32 place = page % LAGTRAP_UNWIND_REGION_PAGES;
    return bpf_map_lookup_elem(pages, &place);
}

/* All ones if a <= b, without a branch: the verifier would follow each branch of a search
 * separately. Both must be below 2^63. */
static __always_inline __u64 mask_if_not_above(__u64 a, __u64 b) {
    __u64 mask = ~(__u64)((__s64)(b - a) >> 63);
    barrier_var(mask);
    return mask;
}

/* Finds the mapping of `pc` and its table; if there is none, the walk's mapping is unchanged.
 * Global, like true_return_address(), so that the verifier checks it once. */
__noinline int find_mapping(struct user_walk* walk, __u64 pc) {
    if (!walk) return 0;
    __u32 count = walk->space.mapping_count;
    if (count == 0 || pc >> 63) return 0;
    __u32 first_page = walk->space.first_block / 4;
    __u32 first = walk->space.first_block % 4 * LAGTRAP_UNWIND_MAPPINGS_PER_BLOCK;
    struct lagtrap_unwind_page* page = unwind_page(first_page);
    if (!page) return 0;
    __u32 in_page = count;
    if (count > LAGTRAP_UNWIND_MAPPINGS_PER_PAGE) {
        in_page = LAGTRAP_UNWIND_MAPPINGS_PER_PAGE;
        for (__u32 i = 1; i < LAGTRAP_UNWIND_MAX_MAPPINGS / LAGTRAP_UNWIND_MAPPINGS_PER_PAGE; i++) {
            if (i * LAGTRAP_UNWIND_MAPPINGS_PER_PAGE >= count) break;
            struct lagtrap_unwind_page* further = unwind_page(first_page + i);
            if (!further || further->words[0] > pc) break;
            page = further;
            in_page = count - i * LAGTRAP_UNWIND_MAPPINGS_PER_PAGE;
        }
        if (in_page > LAGTRAP_UNWIND_MAPPINGS_PER_PAGE) in_page = LAGTRAP_UNWIND_MAPPINGS_PER_PAGE;
    }
    struct lagtrap_unwind_mapping* mappings = (void*)page;
    __u32 base = first;
    for (__u32 step = 0; step < 8; step++) {
        __u32 half = in_page / 2;
        __u64 start = mappings[(base + half) % LAGTRAP_UNWIND_MAPPINGS_PER_PAGE].start;
        base += half & (__u32)mask_if_not_above(start, pc);
        in_page -= half;
    }
    struct lagtrap_unwind_mapping* mapping = &mappings[base % LAGTRAP_UNWIND_MAPPINGS_PER_PAGE];
    if (pc - mapping->start >= mapping->length) return 0;
    __u32 number = mapping->table;
    struct lagtrap_unwind_table* table = bpf_map_lookup_elem(&unwind_tables, &number);
    if (!table) return 0;
    walk->mapping = *mapping;
    walk->table = *table;
    return 1;
}

/* The rule for `pc`, which must be in the walk's mapping, with a table that is ready. */
static __always_inline struct lagtrap_unwind_rule find_rule(struct user_walk* walk, __u64 pc) {
    struct lagtrap_unwind_rule gap = {};
    __u64 offset = pc - walk->mapping.table_start;
    if (offset / LAGTRAP_UNWIND_BUCKET_BYTES >= walk->table.bucket_count) return gap;
    __u32 bucket_number = offset / LAGTRAP_UNWIND_BUCKET_BYTES;
    struct lagtrap_unwind_page* page =
        unwind_page(walk->table.first_page + bucket_number / LAGTRAP_UNWIND_BUCKETS_PER_PAGE);
    if (!page) return gap;
    struct lagtrap_unwind_bucket bucket =
        ((struct lagtrap_unwind_bucket*)page)[bucket_number % LAGTRAP_UNWIND_BUCKETS_PER_PAGE];
    if (bucket.row_count == 0) return gap;
    page = unwind_page(walk->table.first_page + bucket.first_row / LAGTRAP_UNWIND_ROWS_PER_PAGE);
    if (!page) return gap;
    const __u32* rows = (void*)page;
    __u32 base = bucket.first_row % LAGTRAP_UNWIND_ROWS_PER_PAGE;
    __u32 length = bucket.row_count;
    __u64 wanted = (offset % LAGTRAP_UNWIND_BUCKET_BYTES + 1) << LAGTRAP_UNWIND_RULE_BITS;
    for (__u32 step = 0; step < 11; step++) {
        __u32 half = length / 2;
        __u64 row = rows[(base + half) % LAGTRAP_UNWIND_ROWS_PER_PAGE];
        base += half & (__u32)mask_if_not_above(row + 1, wanted);
        length -= half;
    }
    __u32 rule = rows[base % LAGTRAP_UNWIND_ROWS_PER_PAGE] % LAGTRAP_UNWIND_MAX_RULES;
    page = unwind_page(walk->table.first_page + walk->table.rule_page +
                       rule / LAGTRAP_UNWIND_RULES_PER_PAGE);
    if (!page) return gap;
    return ((struct lagtrap_unwind_rule*)page)[rule % LAGTRAP_UNWIND_RULES_PER_PAGE];
}

/* A kernel return probe has replaced the return address by its own (kernel/events/uprobes.c,
 * prepare_uretprobe); the original is in a list, innermost first. Several probes of one call
 * share the slot. */
__noinline __u64 true_return_address(struct user_walk* walk, __u64 slot, __u64 found) {
    if (!walk) return found;
    for (int i = 0; i < 8; i++) {
        struct return_instance* instance = (void*)walk->return_instance;
        if (!instance || walk->return_slot > slot) break;
        if (walk->return_slot == slot) found = BPF_CORE_READ(instance, orig_ret_vaddr);
        instance = BPF_CORE_READ(instance, next);
        walk->return_instance = (__u64)instance;
        walk->return_slot = instance ? BPF_CORE_READ(instance, stack) : 0;
    }
    return found;
}

/* If a frame needs this value, the walk ends, because it never leads to a valid frame. */
#define UNKNOWN_BP (~0ULL)

enum step_result { STEP_ON = 0, STEP_ENDED = 1 };

static __always_inline int end_walk(struct user_walk* walk, __u8 reason) {
    walk->end |= reason;
    return STEP_ENDED;
}

/* Continues with the caller: its return address and frame pointer are known, and the call was
 * made at `cfa`. */
static __always_inline int go_to_caller(struct user_walk* walk, __u64 cfa, __u64 return_address,
                                        __u64 bp) {
    if (walk->return_instance) return_address = true_return_address(walk, cfa - 8, return_address);
    if (return_address == 0) return end_walk(walk, LAGTRAP_STACK_END_COMPLETE);
    walk->pc = return_address;
    walk->sp = cfa;
    walk->bp = bp;
    walk->registers = 0;
    walk->pc_is_return_address = 1;
    return STEP_ON;
}

/* Guesses by the frame pointer, or by a return address on top of the stack; accepted if that is
 * in known code. */
static __always_inline int step_by_guess(struct walk_context* context, __u8 reason, bool try_top,
                                         bool sleeping) {
    struct user_walk* walk = context->walk;
    __u64 pair[2] = {};
    walk->end |= LAGTRAP_STACK_BY_FRAME_POINTER;
    if (try_top && !walk->pc_is_return_address &&
        read_user(context, pair, 8, walk->sp, sleeping) == 0 && find_mapping(walk, pair[0] - 1))
        return go_to_caller(walk, walk->sp + 8, pair[0], walk->bp);
    walk->rbx_address = 0;
    if (walk->bp == 0 && !try_top) return end_walk(walk, LAGTRAP_STACK_END_COMPLETE);
    if (walk->bp < walk->sp || walk->bp % 8 || walk->bp - walk->sp > (1 << 20))
        return end_walk(walk, reason);
    if (read_user(context, pair, sizeof(pair), walk->bp, sleeping)) return end_walk(walk, reason);
    if (pair[1] == 0) return end_walk(walk, LAGTRAP_STACK_END_COMPLETE);
    if (!walk->return_instance && !find_mapping(walk, pair[1] - 1)) return end_walk(walk, reason);
    return go_to_caller(walk, walk->bp + 16, pair[1], pair[0]);
}

static __always_inline int step_over_signal(struct walk_context* context, bool sleeping) {
    struct user_walk* walk = context->walk;
    struct {
        __u64 rbp, rbx, rdx, rax, rcx, rsp, rip;
    } saved;
    __u64 registers = walk->sp + UCONTEXT_REGISTERS;
    if (read_user(context, &saved, sizeof(saved), registers + 80, sleeping))
        return end_walk(walk, LAGTRAP_STACK_END_BAD_ADDRESS);
    walk->pc = saved.rip;
    walk->sp = saved.rsp;
    walk->bp = saved.rbp;
    walk->registers = registers;
    walk->registers_in_user_memory = 1;
    walk->rbx_address = registers + 88;
    walk->rbx_in_user_memory = 1;
    walk->pc_is_return_address = 0;
    return STEP_ON;
}

/* Reads a register other than rsp and rbp: rbx is tracked, others are known only where a thread
 * was interrupted. */
static __always_inline int read_register(struct walk_context* context, __u32 number, __u64* value,
                                         bool sleeping) {
    struct user_walk* walk = context->walk;
    if (number == 3 && walk->rbx_address) {
        if (walk->rbx_in_user_memory)
            return read_user(context, value, 8, walk->rbx_address, sleeping);
        return bpf_probe_read_kernel(value, 8, (void*)walk->rbx_address);
    }
    if (number == 3 || !walk->registers) return -1;
    if (walk->registers_in_user_memory)
        return read_user(context, value, 8, walk->registers + ucontext_offset[number % 16],
                         sleeping);
    return bpf_probe_read_kernel(value, 8, (void*)(walk->registers + pt_regs_offset[number % 16]));
}

static __always_inline int step_by_rule(struct walk_context* context,
                                        struct lagtrap_unwind_rule rule, __u32 kind,
                                        bool sleeping) {
    struct user_walk* walk = context->walk;
    __u64 cfa = walk->sp;
    __u32 cfa_register = rule.register_and_add % 16;
    if (kind == LAGTRAP_UNWIND_PLT) {
        cfa += 8 + ((walk->pc & 15) >= (__u32)rule.cfa_offset ? 8 : 0);
    } else {
        if (cfa_register == 6) cfa = walk->bp;
        if (cfa_register != 6 && cfa_register != 7 &&
            read_register(context, cfa_register, &cfa, sleeping))
            return end_walk(walk, LAGTRAP_STACK_END_UNSUPPORTED);
        cfa += (__s64)rule.cfa_offset;
        if (kind == LAGTRAP_UNWIND_DEREFERENCE) {
            if (read_user(context, &cfa, 8, cfa, sleeping))
                return end_walk(walk, LAGTRAP_STACK_END_BAD_ADDRESS);
            cfa += rule.register_and_add / 16 * 8;
        }
    }
    if (cfa <= walk->sp) return end_walk(walk, LAGTRAP_STACK_END_NO_PROGRESS);
    __u64 pair[2]; /* the caller's frame pointer if it is pushed first, and the return address */
    if (read_user(context, pair, sizeof(pair), cfa - 16, sleeping))
        return end_walk(walk, LAGTRAP_STACK_END_BAD_ADDRESS);
    __u64 bp = walk->bp;
    __u32 rbp_place = rule.kind_and_rbp / 16;
    if (rbp_place == LAGTRAP_UNWIND_RBP_UNDEFINED) bp = UNKNOWN_BP;
    /* In functions with an aligned stack, gcc describes rbp as saved at rbp until the very end,
     * even after `leave` has restored it. Then it points outside this frame. */
    if (rbp_place == LAGTRAP_UNWIND_RBP_AT_RBP && (bp < walk->sp || bp >= cfa))
        rbp_place = LAGTRAP_UNWIND_RBP_SAME;
    if (rbp_place == LAGTRAP_UNWIND_RBP_AT_CFA && rule.rbp_offset == -16) {
        bp = pair[0];
    } else if (rbp_place == LAGTRAP_UNWIND_RBP_AT_CFA || rbp_place == LAGTRAP_UNWIND_RBP_AT_RBP) {
        __u64 from =
            (rbp_place == LAGTRAP_UNWIND_RBP_AT_CFA ? cfa : walk->bp) + (__s64)rule.rbp_offset;
        if (read_user(context, &bp, 8, from, sleeping))
            return end_walk(walk, LAGTRAP_STACK_END_BAD_ADDRESS);
    }
    if (rule.rbx_words != 0) {
        walk->rbx_address =
            rule.rbx_words == LAGTRAP_UNWIND_RBX_UNKNOWN ? 0 : cfa + (__s64)rule.rbx_words * 8;
        walk->rbx_in_user_memory = 1;
    }
    return go_to_caller(walk, cfa, pair[1], bp);
}

/* Records the current frame and continues with its caller. */
static __always_inline long walk_frame(struct walk_context* context, bool sleeping) {
    struct user_walk* walk = context->walk;
    __u32 place = walk->frame_count;
    if (place >= LAGTRAP_MAX_FRAMES) return end_walk(walk, LAGTRAP_STACK_END_TOO_DEEP);
    context->frames[place] = walk->pc;
    walk->frame_count = place + 1;
    __u64 pc = walk->pc - walk->pc_is_return_address;
    if (pc - walk->mapping.start >= walk->mapping.length && !find_mapping(walk, pc))
        return end_walk(walk, LAGTRAP_STACK_END_NO_MAPPING);
    switch (walk->table.state) {
        case LAGTRAP_UNWIND_TABLE_READY: break;
        case LAGTRAP_UNWIND_TABLE_FRAME_POINTERS:
            return step_by_guess(context, LAGTRAP_STACK_END_GAP, false, sleeping);
        case LAGTRAP_UNWIND_TABLE_NO_ROOM: return end_walk(walk, LAGTRAP_STACK_END_OUT_OF_BUDGET);
        default: return end_walk(walk, LAGTRAP_STACK_END_NO_TABLE);
    }
    struct lagtrap_unwind_rule rule = find_rule(walk, pc);
    __u32 kind = rule.kind_and_rbp % 16;
    /* A function that is returned to but was never called (the first one of a makecontext)
     * starts at the address. */
    if (kind == LAGTRAP_UNWIND_GAP && walk->pc_is_return_address) {
        rule = find_rule(walk, walk->pc);
        kind = rule.kind_and_rbp % 16;
    }
    switch (kind) {
        case LAGTRAP_UNWIND_END: return end_walk(walk, LAGTRAP_STACK_END_COMPLETE);
        case LAGTRAP_UNWIND_SIGNAL: return step_over_signal(context, sleeping);
        case LAGTRAP_UNWIND_UNSUPPORTED: return end_walk(walk, LAGTRAP_STACK_END_UNSUPPORTED);
        case LAGTRAP_UNWIND_GAP:
            return step_by_guess(context, LAGTRAP_STACK_END_GAP, true, sleeping);
        default: return step_by_rule(context, rule, kind, sleeping);
    }
}

#ifdef LAGTRAP_WALK_PYTHON
#include "bpf/python_frames.bpf.h"
#else
static __always_inline long walk_any_frame(struct walk_context* context, bool sleeping) {
    return walk_frame(context, sleeping);
}
#endif

static long walk_current_frame(__u32 step, struct walk_context* context) {
    return walk_any_frame(context, false);
}
static long walk_sleeping_frame(__u32 step, struct walk_context* context) {
    return walk_any_frame(context, true);
}

/* The kernel may have been entered by a breakpoint that it is still handling. Then pc is the
 * breakpoint's address or the byte after it, and the function's first instruction, if it is a
 * `push`, may or may not have been executed for the thread. Until it is, the return address is
 * on top of the stack; pc changes slightly later than the stack. */
static __always_inline void undo_breakpoint(struct user_walk* walk) {
    __u8 bytes[2] = {}; /* before pc, at pc */
    __u64 top[2] = {};
    if (bpf_probe_read_user(bytes, sizeof(bytes), (void*)(walk->pc - 1))) return;
    if (bytes[0] != BREAKPOINT && bytes[1] != BREAKPOINT) return;
    if (bpf_probe_read_user(top, sizeof(top), (void*)walk->sp)) return;
    bool entered = find_mapping(walk, top[0]);
    if (bytes[0] == BREAKPOINT && entered) walk->pc--;
    if (bytes[0] != BREAKPOINT && !entered && find_mapping(walk, top[1])) walk->pc++;
}

/* A thread stopped by a probe is at the probed instruction, even if the kernel has it at the
 * breakpoint or at the out-of-line copy. `trapped`: the kernel was entered by an exception that
 * it is still handling. */
static __always_inline void undo_probe(struct user_walk* walk, struct uprobe_task* probes,
                                       bool trapped) {
    if (trapped) undo_breakpoint(walk);
    if (!probes) return;
    __u64 copy = BPF_CORE_READ(probes, xol_vaddr);
    if (copy != 0 && walk->pc - copy < LONGEST_INSTRUCTION)
        walk->pc = BPF_CORE_READ(probes, vaddr) + (walk->pc - copy);
}

/* Starts with the registers with which the thread left user space. False if there is no user
 * stack. */
static __always_inline bool begin_walk(struct user_walk* walk, struct task_struct* task,
                                       bool sampled_in_kernel) {
    walk->frame_count = 0;
    walk->end = 0;
    walk->mapping.length = 0;
#ifdef LAGTRAP_WALK_PYTHON
    walk->python.mode = PYTHON_NATIVE;
    walk->python.anchor = 0;
    walk->python.is_named = 1;
#endif
    walk->pc_is_return_address = 0;
    walk->registers_in_user_memory = 0;
    struct pt_regs___kernel* registers = (void*)bpf_task_pt_regs(task);
    if (!registers || !FOR_POINTERS(task)->mm)
        return false; /* without memory of its own: it is exiting */
    walk->pc = registers->ip;
    walk->sp = registers->sp;
    walk->bp = registers->bp;
    walk->registers = (__u64)registers;
    walk->rbx_address = (__u64)registers + pt_regs_offset[3];
    walk->rbx_in_user_memory = 0;
    walk->space.mapping_count = 0;
    __u32 process = task->tgid;
    struct lagtrap_unwind_space* space = bpf_map_lookup_elem(&unwind_processes, &process);
    if (space) walk->space = *space;
    if (walk->pc == 0) return false; /* a kernel worker in a user process */
    /* In a system call, look up the preceding instruction: it may be its function's last. */
    bool in_system_call = (__s64)registers->orig_ax >= 0;
    walk->pc_is_return_address = in_system_call;
    struct uprobe_task* probes = FOR_POINTERS(task)->utask;
    undo_probe(walk, probes, sampled_in_kernel && !in_system_call);
    struct return_instance* instance = probes ? BPF_CORE_READ(probes, return_instances) : 0;
    walk->return_instance = (__u64)instance;
    walk->return_slot = instance ? BPF_CORE_READ(instance, stack) : 0;
    __u8 refused = 0;
    if (registers->cs == USER_CODE_32_BIT) refused = LAGTRAP_STACK_END_32_BIT;
    if (!space) refused = LAGTRAP_STACK_END_NO_PROCESS;
    walk->end = refused;
    return true;
}

/* Walks the current thread's stack, from any context. `sampled_in_kernel`: it was interrupted in
 * the kernel. */
static __always_inline void walk_current_user_stack(struct user_walk* walk, __u64* frames,
                                                    bool sampled_in_kernel) {
    struct walk_context context = {.walk = walk, .frames = frames};
    struct task_struct* task = bpf_get_current_task_btf();
    if (!begin_walk(walk, task, sampled_in_kernel)) return;
    frames[0] = walk->pc;
    walk->frame_count = walk->end != 0;
    if (walk->end != 0) return;
#ifdef LAGTRAP_WALK_PYTHON
    if (python_runs)
        begin_python_of_current(walk, task->thread.fsbase, (__u64)task->tgid << 32 | task->pid);
#endif
    bpf_loop(MAX_WALK_STEPS, walk_current_frame, &context, 0);
}

/* Walks a sleeping thread's stack. Only from a sleepable program, because its memory may have to
 * be paged in. */
static __always_inline void walk_sleeping_user_stack(struct user_walk* walk,
                                                     struct task_struct* task, __u64* frames) {
    struct walk_context context = {.walk = walk, .frames = frames, .task = task};
    if (!begin_walk(walk, task, false)) return;
    frames[0] = walk->pc;
    walk->frame_count = walk->end != 0;
    if (walk->end != 0) return;
#ifdef LAGTRAP_WALK_PYTHON
    if (python_runs) begin_python(&context, task->thread.fsbase, task->tgid, task->pid, true);
#endif
    bpf_loop(MAX_WALK_STEPS, walk_sleeping_frame, &context, 0);
}

#endif
