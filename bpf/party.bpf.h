/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Determines a process's party. daemon/processes/process_party.cpp does the same in user space.
 */
#ifndef LAGTRAP_BPF_PARTY_BPF_H
#define LAGTRAP_BPF_PARTY_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/party.h"

/* Bound for loops over user namespaces: the kernel's nesting limit (kernel/user_namespace.c). */
#define MAX_USER_NAMESPACES 33

static __always_inline __u32 party_of_uid(__u32 uid) {
    return uid < LAGTRAP_PARTY_FIRST_NAMESPACE ? uid : LAGTRAP_PARTY_UNKNOWN;
}

/* The pid namespace directly below the machine's own that contains the process. Kernels differ
 * in the declared length of the array, so its element is found by offsets. */
static __always_inline struct pid_namespace* outermost_pid_namespace(struct pid* pid) {
    struct pid_namespace* found = 0;
    const char* second = (const char*)pid + bpf_core_field_offset(struct pid, numbers) +
                         bpf_core_type_size(struct upid);
    bpf_core_read(&found, sizeof(found), &((struct upid*)second)->ns);
    return found;
}

/* For a process outside the machine's user or pid namespace. Reads by helper calls, because such
 * processes are rare. */
static __noinline __u32 party_in_namespaces(struct task_struct* task) {
    struct pid* pid = BPF_CORE_READ(task, thread_pid);
    if (BPF_CORE_READ(pid, level) > 0) {
        struct pid_namespace* outermost = outermost_pid_namespace(pid);
        if (BPF_CORE_READ(outermost, user_ns, level) == 0) return BPF_CORE_READ(outermost, ns.inum);
    }
    const struct cred* cred = BPF_CORE_READ(task, real_cred);
    struct user_namespace* users = BPF_CORE_READ(cred, user_ns);
    if (BPF_CORE_READ(users, level) == 0) return party_of_uid(BPF_CORE_READ(cred, uid.val));
    for (int i = 0; i < MAX_USER_NAMESPACES; i++) {
        if (BPF_CORE_READ(users, level) <= 1) break;
        users = BPF_CORE_READ(users, parent);
    }
    __u32 owner = BPF_CORE_READ(users, owner.val);
    return owner != 0 ? party_of_uid(owner) : BPF_CORE_READ(users, ns.inum);
}

static __always_inline __u32 party_of(struct task_struct* task) {
    const struct cred* cred = FOR_POINTERS(task)->real_cred;
    if (cred->user_ns->level == 0 && FOR_POINTERS(task)->thread_pid->level == 0)
        return party_of_uid(cred->uid.val);
    return party_in_namespaces(task);
}

/* Global, so that the verifier checks it once rather than on every path. */
__noinline __u32 current_party(void) { return party_of(bpf_get_current_task_btf()); }

#endif
