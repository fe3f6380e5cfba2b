/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The owner of a lock that a thread waits for, or the thread whose end it awaits, as the program's
 * memory says: the futex word of PI and robust mutexes, the owner field of glibc's mutexes and
 * write locks. The memory may hold anything, so readers of the record must check that the thread
 * can be the owner.
 */
#ifndef LAGTRAP_BPF_LOCK_OWNER_BPF_H
#define LAGTRAP_BPF_LOCK_OWNER_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/wait_object.bpf.h"

#define NAMESPACED_THREADS 16384
#define FUTEX_HAS_WAITERS 0x80000000 /* FUTEX_WAITERS, include/uapi/linux/futex.h */
#define FUTEX_OWNER 0x3fffffff       /* FUTEX_TID_MASK */
#define PID_LEVELS 32                /* MAX_PID_NS_LEVEL, include/linux/pid_namespace.h */
#define MUTEX_HAS_WAITERS 2          /* glibc: a mutex that is locked and has waiters */
#define WRITER_HAS_WAITERS 3 /* glibc: a reader-writer lock in its writing phase, with waiters */
#define MUTEX_OWNER 2        /* word of pthread_mutex_t: lock, count, owner */
#define WRITER \
    4 /* word of pthread_rwlock_t, counted from its third one, which is the first with waiters */
#define LOCK_WORDS 5
#define FIRST_THREAD                                                                             \
    4 /* a thread that is joined has its number where the kernel will clear it; locks have small \
         ones */

struct thread_number {
    __u32 pid;    /* the machine's */
    __u32 number; /* of the thread in its own namespace */
};

/* The machine's number of threads that have another one in their own pid namespace. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, NAMESPACED_THREADS);
    __type(key, struct thread_number);
    __type(value, __u32);
} namespaced_threads SEC(".maps");

/* How many pid namespaces its process is in, beside the machine's. */
static __always_inline __u32 pid_level(struct task_struct* task) {
    return BPF_CORE_READ(task, thread_pid, level);
}

static __always_inline void note_thread_number(struct task_struct* task) {
    __u32 level = pid_level(task);
    if (level == 0 || level > PID_LEVELS) return;
    const struct pid* pid = BPF_CORE_READ(task, thread_pid);
    const char* own = (const char*)pid + bpf_core_field_offset(struct pid, numbers) +
                      level * bpf_core_type_size(struct upid);
    struct thread_number key = {.pid = task->tgid};
    bpf_core_read(&key.number, sizeof(key.number), &((const struct upid*)own)->nr);
    __u32 tid = task->pid;
    bpf_map_update_elem(&namespaced_threads, &key, &tid, BPF_ANY);
}

/* The number that a lock in memory has of its owner; 0: unknown, or it is no lock with an owner. */
static __always_inline __u32 owner_in(const __u32* words, __u64 address, __u32 operation) {
    bool is_second = address & sizeof(__u32);
    __u32 word = is_second ? words[1] : words[0];
    __u32 command = operation & FUTEX_COMMAND;
    if (command == FUTEX_COMMAND_LOCK_PI || command == FUTEX_COMMAND_LOCK_PI2 ||
        word & FUTEX_HAS_WAITERS)
        return word & FUTEX_OWNER;
    if (word == MUTEX_HAS_WAITERS && !is_second) return words[MUTEX_OWNER];
    if (word == WRITER_HAS_WAITERS) return words[WRITER];
    return operation & FUTEX_OF_ONE_PROCESS || word < FIRST_THREAD ? 0 : word;
}

/* The task waits for a futex (wait_object() is not 0); `sleeping`: it is not the current one. */
static __always_inline __u32 lock_owner(struct task_struct* task, bool sleeping) {
    struct pt_regs___kernel* registers = (void*)bpf_task_pt_regs(task);
    if (!registers) return 0;
    __u32 words[LOCK_WORDS];
    const void* from = (const void*)(registers->di & ~7ULL);
    long failed = sleeping ? bpf_copy_from_user_task(words, sizeof(words), from, task, 0)
                           : bpf_probe_read_user(words, sizeof(words), from);
    if (failed) return 0;
    __u32 owner = owner_in(words, registers->di, registers->si);
    if (owner == 0 || pid_level(task) == 0) return owner;
    struct thread_number key = {.pid = task->tgid, .number = owner};
    __u32* tid = bpf_map_lookup_elem(&namespaced_threads, &key);
    return tid ? *tid : 0;
}

#endif
