/* Entry points of programs. Tracepoint programs are functions of their arguments here. */
#pragma once

#include <bpf/bpf_helpers.h>

#define BPF_PROG(name, ...) name(__VA_ARGS__)

#define PT_REGS_SP(registers) ((registers)->rsp)
#define PT_REGS_IP(registers) ((registers)->rip)
#define PT_REGS_RC(registers) ((registers)->rax)
