/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The Python functions of a stack. The walk (user_stack.bpf.h, which includes this) sees only the
 * interpreter, which runs any number of Python calls in one call of its own.
 * Each of these keeps something on the thread's stack (the anchor). Where the walk has passed it,
 * the functions of that call follow, as LAGTRAP_PYTHON_FRAME | address of their code object.
 *
 * One step of the walk reads one frame, native or Python's. The memory may hold anything.
 */
#ifndef LAGTRAP_BPF_PYTHON_FRAMES_BPF_H
#define LAGTRAP_BPF_PYTHON_FRAMES_BPF_H

#define PYTHON_THREADS 1024      /* searched, of one process */
#define PYTHON_LOOK_NS 100000000 /* between two searches for a thread that runs no Python */
#define PYTHON_SEARCH_NS                                                                     \
    1000000                 /* between two in one process, whose list may be made to be long \
                             */
#define PYTHON_OWNED_BY_C 3 /* FRAME_OWNED_BY_CSTACK (pycore_frame.h) */

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, LAGTRAP_PYTHON_PROCESSES);
    __type(key, __u32); /* the process */
    __type(value, struct lagtrap_python);
} python_processes SEC(".maps");

/* 1: some process runs Python, or did. */
volatile __u32 python_runs = 0;

struct python_thread {
    __u64 state; /* 0: none was found */
    __u64 searched_ns;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, __u32); /* the thread */
    __type(value, struct python_thread);
} python_threads SEC(".maps");

static __always_inline long match_python_thread(struct walk_context* context, bool sleeping) {
    struct python_walk* python = &context->walk->python;
    __u64 ident = 0;
    if (python->state == 0) return 1;
    if (read_user(context, &ident, 8, python->state + python->layout.thread_ident, sleeping)) {
        python->state = 0;
        return 1;
    }
    if (ident == python->ident) return 1;
    if (read_user(context, &python->state, 8, python->state + python->layout.next_thread, sleeping))
        python->state = 0;
    return python->state == 0;
}

static long match_current_thread(__u32 step, struct walk_context* context) {
    return match_python_thread(context, false);
}
static long match_sleeping_thread(__u32 step, struct walk_context* context) {
    return match_python_thread(context, true);
}

static __always_inline bool is_state_of_thread(struct walk_context* context, __u64 state,
                                               bool sleeping) {
    struct python_walk* python = &context->walk->python;
    __u64 ident = 0;
    return read_user(context, &ident, 8, state + python->layout.thread_ident, sleeping) == 0 &&
           ident == python->ident;
}

/* Sets python->state to that of the thread whose pthread_self() is python->ident, or to 0. */
static __always_inline void search_python_thread(struct walk_context* context, bool sleeping) {
    struct python_walk* python = &context->walk->python;
    python->state = 0;
    if (read_user(context, &python->state, 8, python->layout.runtime + python->layout.interpreters,
                  sleeping) ||
        python->state == 0 ||
        read_user(context, &python->state, 8, python->state + python->layout.threads, sleeping)) {
        python->state = 0;
        return;
    }
    if (sleeping)
        bpf_loop(PYTHON_THREADS, match_sleeping_thread, context, 0);
    else
        bpf_loop(PYTHON_THREADS, match_current_thread, context, 0);
    if (python->state != 0 && !is_state_of_thread(context, python->state, sleeping))
        python->state = 0;
}

/* `process` is the layout in the map. */
static __always_inline void find_python_thread(struct walk_context* context,
                                               struct lagtrap_python* process, __u32 tid,
                                               bool sleeping) {
    struct python_walk* python = &context->walk->python;
    struct python_thread* known = bpf_map_lookup_elem(&python_threads, &tid);
    __u64 now_ns = bpf_ktime_get_ns();
    if (known) {
        python->state = known->state;
        if (known->state == 0 && now_ns - known->searched_ns < PYTHON_LOOK_NS) return;
        if (known->state != 0 && is_state_of_thread(context, known->state, sleeping)) return;
    }
    python->state = 0;
    if (now_ns < process->next_search_ns) return;
    process->next_search_ns = now_ns + PYTHON_SEARCH_NS;
    search_python_thread(context, sleeping);
    struct python_thread found = {.state = python->state, .searched_ns = now_ns};
    bpf_map_update_elem(&python_threads, &tid, &found, BPF_ANY);
}

/* Continues with a call of the interpreter, of a version that has such objects; 0: no more. */
static __always_inline void go_to_python_call(struct walk_context* context, __u64 call,
                                              bool sleeping) {
    struct python_walk* python = &context->walk->python;
    python->anchor = call;
    if (call == 0 ||
        read_user(context, &python->frame, 8, call + python->layout.call_frame, sleeping))
        python->anchor = 0;
}

/* `ident` is the thread pointer. */
static __always_inline void begin_python(struct walk_context* context, __u64 ident, __u32 pid,
                                         __u32 tid, bool sleeping) {
    struct python_walk* python = &context->walk->python;
    struct lagtrap_python* layout = bpf_map_lookup_elem(&python_processes, &pid);
    if (!layout) return;
    python->layout = *layout;
    python->ident = ident;
    find_python_thread(context, layout, tid, sleeping);
    __u64 innermost = 0;
    if (python->state == 0 ||
        read_user(context, &innermost, 8, python->state + python->layout.thread_frame, sleeping))
        return;
    if (python->layout.has_calls) return go_to_python_call(context, innermost, sleeping);
    python->frame = innermost;
    python->entry = innermost;
    python->steps = 0;
    python->mode = PYTHON_FIND_ENTRY;
}

/* Global, so that the verifier checks it once. */
__noinline int begin_python_of_current(struct user_walk* walk, __u64 ident, __u64 pid_tid) {
    if (!walk) return 0;
    struct walk_context context = {.walk = walk};
    begin_python(&context, ident, pid_tid >> 32, pid_tid, false);
    return 0;
}

/* A forked child has its parent's memory. */
static __always_inline void pass_on_python(__u32 parent_pid, __u32 child_pid) {
    struct lagtrap_python* layout = bpf_map_lookup_elem(&python_processes, &parent_pid);
    if (!layout) return;
    struct lagtrap_python copy = *layout;
    bpf_map_update_elem(&python_processes, &child_pid, &copy, BPF_NOEXIST);
}

static __always_inline void leave_python(struct python_walk* python) {
    python->mode = PYTHON_NATIVE;
    python->anchor = 0;
}

/* One Python frame. */
static __always_inline long walk_python_frame(struct walk_context* context, bool sleeping) {
    struct user_walk* walk = context->walk;
    struct python_walk* python = &walk->python;
    __u64 at = python->mode == PYTHON_FIND_ENTRY ? python->entry : python->frame;
    if (python->mode == PYTHON_FIND_ENTRY && python->steps++ >= MAX_ENTRY_STEPS) at = 0;
    if (at == 0 || read_user(context, python->words, sizeof(python->words), at, sleeping)) {
        leave_python(python);
        return STEP_ON;
    }
    __u64 previous = python->words[python->layout.frame_previous / 8 % 8];
    __u8 mark = ((__u8*)python->words)[64 + python->layout.frame_entry % 8];
    bool is_own = python->layout.has_own_entry;
    bool is_entry = is_own ? mark >= PYTHON_OWNED_BY_C : mark != 0;
    if (python->mode == PYTHON_FIND_ENTRY) {
        python->entry = previous;
        if (is_entry) {
            python->anchor = at;
            python->mode = PYTHON_NATIVE;
        }
        return STEP_ON;
    }
    if (!is_entry || !is_own) {
        __u32 place = walk->frame_count;
        if (place >= LAGTRAP_MAX_FRAMES) return end_walk(walk, LAGTRAP_STACK_END_TOO_DEEP);
        __u64 code = python->words[python->layout.frame_code / 8 % 8];
        context->frames[place] = LAGTRAP_PYTHON_FRAME | (code & LAGTRAP_PYTHON_CODE);
        walk->frame_count = place + 1;
        python->is_named = 0;
    }
    python->frame = previous;
    if (!is_entry) return STEP_ON;
    python->mode = PYTHON_NATIVE;
    if (python->layout.has_calls) {
        __u64 call = 0;
        if (read_user(context, &call, 8, python->anchor + python->layout.call_previous, sleeping))
            call = 0;
        go_to_python_call(context, call, sleeping);
    } else {
        python->entry = previous;
        python->mode = PYTHON_FIND_ENTRY;
    }
    return STEP_ON;
}

/* One frame, native or Python's. */
static __always_inline long walk_any_frame(struct walk_context* context, bool sleeping) {
    struct user_walk* walk = context->walk;
    struct python_walk* python = &walk->python;
    if (python->mode != PYTHON_NATIVE) return walk_python_frame(context, sleeping);
    __u64 sp = walk->sp;
    if (walk_frame(context, sleeping) != STEP_ON) return STEP_ENDED;
    if (python->anchor != 0 && walk->sp > sp && python->anchor - sp < walk->sp - sp)
        python->mode = PYTHON_FRAMES;
    return STEP_ON;
}

#endif
