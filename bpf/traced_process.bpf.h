/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The process that calls, functions or objects are traced in.
 */
#ifndef LAGTRAP_BPF_TRACED_PROCESS_BPF_H
#define LAGTRAP_BPF_TRACED_PROCESS_BPF_H

#include "bpf/kernel.bpf.h"

const volatile __u32 target_pid = 0;
/* The trace was asked for by the process's owner, who may trace no other user's process. */
const volatile bool owner_asked = false;
const volatile __u32 owner_uid = 0;

/* Probes outlive an exec. A set-user-ID program, or one with capabilities, is no longer its starter's to look into. */
static __always_inline bool belongs_to_owner(struct task_struct* task) {
    const struct cred* cred = BPF_CORE_READ(task, real_cred);
    __u64 capabilities = 0;
    if (bpf_core_read(&capabilities, sizeof(capabilities), &cred->cap_permitted)) return false;
    return BPF_CORE_READ(cred, uid.val) == owner_uid && BPF_CORE_READ(cred, euid.val) == owner_uid &&
           BPF_CORE_READ(cred, suid.val) == owner_uid && capabilities == 0;
}

static __always_inline bool is_target(struct task_struct* task) {
    return task->tgid == target_pid && (!owner_asked || belongs_to_owner(task));
}

#endif
