/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * What the traces of calls, functions and objects have in common. User space finds these maps and
 * programs by their names (daemon/calls/probe_session.hpp). Before including this, define
 * TRACED_FUNCTION and TRACED_FUNCTIONS (the value of a function and their number), TRACED_TOTALS,
 * and TRACED_RECORDS (bytes of the ring). Optional: TRACED_NOTHING_OPEN(), a quick check that no
 * call can end.
 */
#ifndef LAGTRAP_BPF_TRACED_FUNCTIONS_BPF_H
#define LAGTRAP_BPF_TRACED_FUNCTIONS_BPF_H

#include "bpf/function_exit.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/traced_functions.h"
#include "bpf/traced_process.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, TRACED_FUNCTIONS);
    __type(key, __u32);
    __type(value, TRACED_FUNCTION);
} functions SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, TRACED_TOTALS);
} totals SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, TRACED_RECORDS);
} records SEC(".maps");

static __always_inline TRACED_TOTALS* all_totals(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&totals, &zero);
}

static __always_inline TRACED_FUNCTION* function_of(__u32 number) {
    return bpf_map_lookup_elem(&functions, &number);
}

static __always_inline __u64 less(__u64 whole, __u64 part) {
    return whole > part ? whole - part : 0;
}

#ifndef TRACED_NOTHING_OPEN
#define TRACED_NOTHING_OPEN() false
#endif

/* A call of the function ends; `shared`: or one of another function with the same exit. The stack
 * pointer is that of the function's first instruction. */
static __always_inline int on_left(struct pt_regs* ctx, __u32 function, __u64 stack_pointer,
                                   bool shared);

SEC("uprobe") /* instructions that leave a function, some conditionally */
int on_call_exit(struct pt_regs* ctx) {
    if (TRACED_NOTHING_OPEN()) return 0;
    __u64 cookie = bpf_get_attach_cookie(ctx);
    if (!leaves_function(ctx, cookie)) return 0;
    return on_left(ctx, cookie, PT_REGS_SP(ctx), cookie & LAGTRAP_COOKIE_EXIT_SHARED);
}

SEC("uretprobe") /* after the return address was popped */
int on_call_return(struct pt_regs* ctx) {
    if (TRACED_NOTHING_OPEN()) return 0;
    return on_left(ctx, bpf_get_attach_cookie(ctx), PT_REGS_SP(ctx) - sizeof(__u64), false);
}

#endif
