// The kernel's types as BPF programs declare them, for tests that fill them. Include it last: it
// replaces some names.
#pragma once

extern "C" {
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>
#include <stdbool.h>
}

namespace lagtrap::native::kernel {
struct task_struct;
struct vm_area_struct;
#include "bpf/kernel.bpf.h"
}  // namespace lagtrap::native::kernel

#undef barrier
#undef preserve_access_index
#undef __sync_lock_test_and_set
#undef __sync_val_compare_and_swap
