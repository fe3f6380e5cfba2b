/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * A marker's program that does nothing: what is left is what the kernel takes for entering it.
 */
/* The second needs the first. */
// clang-format off
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
// clang-format on

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("uprobe.multi")
int on_marker(void* registers) { return 0; }
