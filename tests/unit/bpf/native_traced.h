/* For C files that compile the programs of a trace (traced_functions.bpf.h) for this machine.
 * Include it after the programs. */
#pragma once

#include "tests/unit/bpf/native_task.h"
#include "tests/unit/bpf/traced_programs.h"

void native_set_target(__u32 pid) { set_constant(&target_pid, &pid, sizeof(pid)); }
void native_set_owner(bool asked, __u32 uid) {
    set_constant(&owner_asked, &asked, sizeof(asked));
    set_constant(&owner_uid, &uid, sizeof(uid));
}

static void define_traced_maps(void) {
    DEFINE_STORAGE(threads);
    DEFINE_MAP(functions);
    DEFINE_MAP(totals);
    DEFINE_RING(records);
    DEFINE_MAP(exit_sites);
}

static void forget_target(void) {
    forget_task();
    native_set_target(0);
    native_set_owner(false, 0);
}

struct unix_sock* native_local(const void* sk) {
    return NULL;
}
