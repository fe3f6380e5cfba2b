/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The process whose calls, functions or objects are traced.
 */
#ifndef LAGTRAP_BPF_TRACED_PROCESS_BPF_H
#define LAGTRAP_BPF_TRACED_PROCESS_BPF_H

#include "bpf/kernel.bpf.h"

const volatile __u32 target_pid = 0;
/* The process's owner requested the trace, and may not trace other users' processes. */
const volatile bool owner_asked = false;
const volatile __u32 owner_uid = 0;

/* Probes survive an exec. Users may not inspect a set-user-ID program, or one with capabilities,
 * even if they started it. */
static __always_inline bool belongs_to_owner(struct task_struct* task) {
    const struct cred* cred = BPF_CORE_READ(task, real_cred);
    __u64 capabilities = 0;
    if (bpf_core_read(&capabilities, sizeof(capabilities), &cred->cap_permitted)) return false;
    return BPF_CORE_READ(cred, uid.val) == owner_uid &&
           BPF_CORE_READ(cred, euid.val) == owner_uid &&
           BPF_CORE_READ(cred, suid.val) == owner_uid && capabilities == 0;
}

static __always_inline bool is_target(struct task_struct* task) {
    return task->tgid == target_pid && (!owner_asked || belongs_to_owner(task));
}

#endif
