/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Decides whether an instruction that may leave a function does so this time (x86-64). The probe
 * fires before the instruction executes, so flags and registers are those it will use.
 */
#ifndef LAGTRAP_BPF_FUNCTION_EXIT_BPF_H
#define LAGTRAP_BPF_FUNCTION_EXIT_BPF_H

#include "bpf/usdt_argument.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LAGTRAP_MAX_EXIT_SITES);
    __type(key, __u32);
    __type(value, struct lagtrap_exit_site);
} exit_sites SEC(".maps");

#define FLAG_CARRY (1 << 0)
#define FLAG_PARITY (1 << 2)
#define FLAG_ZERO (1 << 6)
#define FLAG_SIGN (1 << 7)
#define FLAG_OVERFLOW (1 << 11)

/* Condition codes of Jcc: bit 0 inverts the condition (Intel SDM, volume 1, appendix B). */
static __always_inline bool condition_holds(__u64 flags, __u32 code) {
    bool differ = !(flags & FLAG_SIGN) != !(flags & FLAG_OVERFLOW);
    bool holds = false;
    switch (code >> 1) {
        case 0: holds = flags & FLAG_OVERFLOW; break;
        case 1: holds = flags & FLAG_CARRY; break;
        case 2: holds = flags & FLAG_ZERO; break;
        case 3: holds = flags & (FLAG_CARRY | FLAG_ZERO); break;
        case 4: holds = flags & FLAG_SIGN; break;
        case 5: holds = flags & FLAG_PARITY; break;
        case 6: holds = differ; break;
        default: holds = differ || (flags & FLAG_ZERO); break;
    }
    return code & 1 ? !holds : holds;
}

static __noinline bool target_is_outside(struct pt_regs* ctx, __u32 site_id) {
    struct lagtrap_exit_site* site = bpf_map_lookup_elem(&exit_sites, &site_id);
    if (!site) return false;
    __s64 distance = usdt_argument(ctx, &site->target) - ctx->rip;
#pragma unroll
    for (int i = 0; i < LAGTRAP_EXIT_RANGES; i++)
        if (distance >= site->within[i].begin && distance < site->within[i].end) return false;
    return true;
}

static __always_inline __u32 exit_of(__u64 cookie) {
    return cookie >> LAGTRAP_COOKIE_EXIT_SHIFT & LAGTRAP_COOKIE_EXIT_MASK;
}

static __always_inline bool leaves_function(struct pt_regs* ctx, __u64 cookie) {
    __u32 exit = exit_of(cookie);
    if (exit == LAGTRAP_EXIT_ALWAYS || exit == LAGTRAP_EXIT_RETURNED) return true;
    if (exit == LAGTRAP_EXIT_BY_TARGET)
        return target_is_outside(ctx, cookie >> LAGTRAP_COOKIE_EXIT_SITE_SHIFT);
    if (exit == LAGTRAP_EXIT_RCX_ZERO) return ctx->rcx == 0;
    if (exit == LAGTRAP_EXIT_ECX_ZERO) return (__u32)ctx->rcx == 0;
    return condition_holds(ctx->eflags, exit - 1);
}

#endif
