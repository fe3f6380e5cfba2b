/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * A marker's program that does nothing, and one that only reads what every such program must:
 * what they cost is the kernel's share. */
/* The second header needs the first. */
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
// clang-format on

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("uprobe.multi")
int do_nothing(void* registers) { return 0; }

volatile __u64 read;

/* The minimum that every program that pairs markers must read: marker, time and thread. */
SEC("uprobe.multi")
int read_clock_and_thread(void* registers) {
    read = bpf_get_attach_cookie(registers) + bpf_ktime_get_ns() + bpf_get_current_pid_tgid();
    return 0;
}
