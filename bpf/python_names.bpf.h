/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Names of Python functions in stacks, read from their code objects the first time that a
 * recording has them. Internal to the recorder, which owns the ring.
 */
#ifndef LAGTRAP_BPF_PYTHON_NAMES_BPF_H
#define LAGTRAP_BPF_PYTHON_NAMES_BPF_H

#define PYTHON_OBJECT_TYPE 8  /* PyObject.ob_type */
#define PYTHON_TEXT_LENGTH 16 /* PyASCIIObject.length, then hash and state */
#define MAX_PYTHON_TEXT 65536

/* The part of a PyASCIIObject that tells how its text is kept (unicodeobject.h). */
struct python_text {
    __u64 length;
    __u64 hash;
    __u32 state; /* 2 bits, then 3: bytes of a character, then: compact, ASCII */
    __u32 padding;
};

struct python_name_scratch {
    struct lagtrap_python_code record;
    struct python_text text;
    __u64 address;
};

/* A sample may interrupt a switch: enum scratch_user. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, SCRATCH_KINDS);
    __type(key, __u32);
    __type(value, struct python_name_scratch);
} python_name_scratch SEC(".maps");

/* For the iterator, which one daemon thread runs at a time. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct python_name_scratch);
} iterator_python_name_scratch SEC(".maps");

/* Passed to each step by bpf_loop(). */
struct python_question {
    struct walk_context walk; /* to read the program's memory */
    struct stack_scratch* stack;
    struct python_name_scratch* out;
    __u64 now_ns;
    __u32 pid;
};

/* Reads the string to which out->address points, its last `limit` bytes if `ends`, otherwise the
 * first. Returns their number; 0 if it cannot be read. */
static __always_inline __u16 read_python_text(struct python_question* question, char* to,
                                              __u32 limit, __u8* character_bytes, bool ends,
                                              bool sleeping) {
    struct python_name_scratch* out = question->out;
    struct python_walk* python = &question->walk.walk->python;
    if (read_user(&question->walk, &out->text, sizeof(out->text), out->address + PYTHON_TEXT_LENGTH,
                  sleeping))
        return 0;
    __u32 kind = out->text.state >> 2 & 7;
    bool is_compact = out->text.state >> 5 & 1, is_ascii = out->text.state >> 6 & 1;
    if (!is_compact || (kind != 1 && kind != 2 && kind != 4)) return 0;
    __u64 length = out->text.length;
    if (length > MAX_PYTHON_TEXT) return 0;
    __u64 from = out->address + (is_ascii ? python->layout.ascii_text : python->layout.other_text);
    __u64 bytes = length * kind;
    if (bytes > limit) {
        if (ends) from += bytes - limit;
        bytes = limit;
    }
    barrier_var(bytes); /* as in note_stack */
    if (bytes == 0 || bytes > limit) return 0;
    if (read_user(&question->walk, to, bytes, from, sleeping)) return 0;
    *character_bytes = kind;
    return bytes;
}

/* False if the object is not a function's code, or has gone. */
static __always_inline bool read_python_code(struct python_question* question, __u64 code,
                                             bool sleeping) {
    struct python_name_scratch* out = question->out;
    struct python_walk* python = &question->walk.walk->python;
    if (read_user(&question->walk, &out->address, 8, code + PYTHON_OBJECT_TYPE, sleeping) ||
        out->address != python->layout.code_type)
        return false;
    struct lagtrap_python_code* record = &out->record;
    __builtin_memset(record, 0, sizeof(*record));
    if (read_user(&question->walk, &record->line, 4, code + python->layout.code_line, sleeping) ||
        read_user(&question->walk, &out->address, 8, code + python->layout.code_name, sleeping))
        return false;
    record->name_bytes = read_python_text(question, record->name, sizeof(record->name),
                                          &record->name_character_bytes, false, sleeping);
    if (read_user(&question->walk, &out->address, 8, code + python->layout.code_path, sleeping))
        return false;
    record->path_bytes = read_python_text(question, record->path, sizeof(record->path),
                                          &record->path_character_bytes, true, sleeping);
    return true;
}

static __always_inline long note_python_name(__u32 place, struct python_question* question,
                                             bool sleeping) {
    if (place >= LAGTRAP_MAX_FRAMES) return 1;
    __u64 frame = question->stack->frames[place];
    if (!LAGTRAP_IS_PYTHON_FRAME(frame)) return 0;
    __u64 key = lagtrap_hash_in(lagtrap_hash_in(0xcbf29ce484222325ULL, question->pid), frame);
    __u32 capture = recording.capture;
    __u32* seen_in = bpf_map_lookup_elem(&seen_stacks, &key);
    if (seen_in && *seen_in == capture) return 0;
    __u64 code = frame & LAGTRAP_PYTHON_CODE;
    if (!read_python_code(question, code, sleeping)) return 0;
    struct lagtrap_python_code* record = &question->out->record;
    record->code = code;
    record->pid = question->pid;
    fill_header(&record->header, LAGTRAP_RECORD_PYTHON_CODE, sizeof(*record), question->now_ns);
    if (bpf_ringbuf_output(&records, record, sizeof(*record), BPF_RB_NO_WAKEUP)) {
        struct lagtrap_capture_counters* counters = my_counters();
        if (counters) __sync_fetch_and_add(&counters->stacks_lost, 1);
        return 0;
    }
    bpf_map_update_elem(&seen_stacks, &key, &capture, BPF_ANY);
    return 0;
}

static long note_name_of_current(__u32 place, struct python_question* question) {
    return note_python_name(place, question, false);
}
static long note_name_of_sleeping(__u32 place, struct python_question* question) {
    return note_python_name(place, question, true);
}

/* Names the Python functions of a stack of the current thread. Global, so that the verifier checks
 * it once. */
__noinline int note_python_names(struct stack_scratch* stack, __u32 pid, __u64 now_ns, __u32 user) {
    if (!stack) return 0;
    __u32 kind = user;
    struct python_question question = {.walk = {.walk = &stack->walk},
                                       .stack = stack,
                                       .out = bpf_map_lookup_elem(&python_name_scratch, &kind),
                                       .now_ns = now_ns,
                                       .pid = pid};
    if (!question.out) return 0;
    bpf_loop(stack->walk.frame_count, note_name_of_current, &question, 0);
    return 0;
}

/* The same for a sleeping thread; only from a sleepable program. */
static __always_inline void note_python_names_of(struct stack_scratch* stack,
                                                 struct task_struct* task, __u64 now_ns) {
    __u32 zero = 0;
    struct python_question question = {
        .walk = {.walk = &stack->walk, .task = task},
        .stack = stack,
        .out = bpf_map_lookup_elem(&iterator_python_name_scratch, &zero),
        .now_ns = now_ns,
        .pid = task->tgid};
    if (question.out) bpf_loop(stack->walk.frame_count, note_name_of_sleeping, &question, 0);
}

#endif
