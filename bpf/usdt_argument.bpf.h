/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Reads an argument at a site of a USDT probe (x86-64).
 */
#ifndef LAGTRAP_BPF_USDT_ARGUMENT_BPF_H
#define LAGTRAP_BPF_USDT_ARGUMENT_BPF_H

#include "bpf/event_monitor.h"
#include "bpf/kernel.bpf.h"

/* The verifier requires constant offsets into the context, but the compiler would merge several
 * loads into one with a variable offset; inline assembly prevents that. A helper for variable
 * offsets costs more than the comparisons. */
#ifndef LOAD_REGISTER /* tests also compile this for other targets than BPF */
#define LOAD_REGISTER(value, ctx, name)   \
    asm volatile("%0 = *(u64 *)(%1 + %2)" \
                 : "=r"(value)            \
                 : "r"(ctx), "i"(__builtin_offsetof(struct pt_regs, name)))
#endif

static __noinline __u64 register_value(struct pt_regs* ctx, __u32 number) {
    __u64 value = 0;
    switch (number) {
        case 0: LOAD_REGISTER(value, ctx, rax); break;
        case 1: LOAD_REGISTER(value, ctx, rcx); break;
        case 2: LOAD_REGISTER(value, ctx, rdx); break;
        case 3: LOAD_REGISTER(value, ctx, rbx); break;
        case 4: LOAD_REGISTER(value, ctx, rsp); break;
        case 5: LOAD_REGISTER(value, ctx, rbp); break;
        case 6: LOAD_REGISTER(value, ctx, rsi); break;
        case 7: LOAD_REGISTER(value, ctx, rdi); break;
        case 8: LOAD_REGISTER(value, ctx, r8); break;
        case 9: LOAD_REGISTER(value, ctx, r9); break;
        case 10: LOAD_REGISTER(value, ctx, r10); break;
        case 11: LOAD_REGISTER(value, ctx, r11); break;
        case 12: LOAD_REGISTER(value, ctx, r12); break;
        case 13: LOAD_REGISTER(value, ctx, r13); break;
        case 14: LOAD_REGISTER(value, ctx, r14); break;
        case 15: LOAD_REGISTER(value, ctx, r15); break;
        default: break; /* LAGTRAP_NO_REGISTER */
    }
    return value;
}

/* Returns 0 if the memory cannot be read now. */
static __noinline __u64 usdt_argument(struct pt_regs* ctx, const struct lagtrap_argument* from) {
    __u32 bytes = from->bytes;
    __u32 unused_bits = (64 - 8 * bytes) & 63;
    __u64 value = 0;
    if (from->place == LAGTRAP_ARGUMENT_CONSTANT) return from->number;
    if (from->place == LAGTRAP_ARGUMENT_REGISTER) {
        value = register_value(ctx, from->base) >> (from->first_bit & 63);
    } else {
        __u64 address = from->number + register_value(ctx, from->base) +
                        (register_value(ctx, from->index) << (from->scale_shift & 3));
        if (bytes > sizeof(value)) return 0;
        if (bpf_probe_read_user(&value, bytes, (const void*)address)) return 0;
    }
    value <<= unused_bits;
    return from->is_signed ? (__u64)((__s64)value >> unused_bits) : value >> unused_bits;
}

#endif
