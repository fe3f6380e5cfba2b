/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Finds the goroutine that runs at a hit in a Go program (x86-64), and how deep its stack is.
 * Code compiled by Go has the goroutine's structure (runtime.g) in r14. Assembly code may use
 * r14 otherwise, so the fallback is the thread-local variable (Go's
 * src/cmd/compile/abi-internal.md and src/runtime/runtime2.go). Either is accepted only if the
 * stack pointer lies in its stack.
 */
#ifndef LAGTRAP_BPF_GOROUTINE_BPF_H
#define LAGTRAP_BPF_GOROUTINE_BPF_H

#include "bpf/event_monitor.h"
#include "bpf/kernel.bpf.h"
#include "bpf/usdt_argument.bpf.h"

struct goroutine {
    __u64 address; /* of its structure */
    __u64 key; /* its number, never reused; a different value on a thread's own stack (number 0) */
    __u64 stack_place; /* like a stack pointer, but unchanged when the stack moves */
};

struct go_stack {
    __u64 low;
    __u64 high;
};

#define GO_THREAD_VARIABLE (-8) /* offset from the thread's base */
#define GO_ARGUMENT_REGISTERS 9
#define REGISTER_R14 14

struct thread_struct___base {
    unsigned long fsbase;
} KERNEL_TYPE;

struct task_struct___base {
    struct thread_struct___base thread;
} KERNEL_TYPE;

static __always_inline bool runs_on(__u64 goroutine, __u64 stack_pointer, struct go_stack* stack) {
    if (bpf_probe_read_user(stack, sizeof(*stack), (const void*)goroutine)) return false;
    return stack_pointer > stack->low && stack_pointer < stack->high;
}

/* False if no goroutine is found, as on a C stack. */
static __noinline bool find_goroutine(struct pt_regs* ctx, __u32 number_offset,
                                      struct goroutine* found) {
    __u64 stack_pointer = PT_REGS_SP(ctx);
    __u64 address = register_value(ctx, REGISTER_R14);
    struct go_stack stack = {};
    if (!found) return false;
    if (!runs_on(address, stack_pointer, &stack)) {
        struct task_struct___base* task = (struct task_struct___base*)bpf_get_current_task();
        __u64 base = BPF_CORE_READ(task, thread.fsbase);
        if (bpf_probe_read_user(&address, sizeof(address),
                                (const void*)(base + GO_THREAD_VARIABLE)))
            return false;
        if (!runs_on(address, stack_pointer, &stack)) return false;
    }
    __u64 number = 0;
    if (bpf_probe_read_user(&number, sizeof(number), (const void*)(address + number_offset)))
        return false;
    found->address = address;
    found->key = number ? number : address | LAGTRAP_KEY_NO_GOROUTINE;
    found->stack_place = LAGTRAP_GO_STACK_TOP - (stack.high - stack_pointer);
    return true;
}

/* Integer and pointer parameters, in the order of Go's registers. */
static __always_inline __u64 go_parameter(struct pt_regs* ctx, __u16 index) {
    const __u64 registers = 0xba9867130ULL; /* rax, rbx, rcx, rdi, rsi, r8, r9, r10, r11: four bits
                                               each, from the lowest */
    if (index >= GO_ARGUMENT_REGISTERS) return 0;
    return register_value(ctx, registers >> (4 * index) & 0xf);
}

#endif
