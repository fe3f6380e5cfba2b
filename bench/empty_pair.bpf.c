/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * A marker's program that does nothing: what is left is what the kernel takes for entering it.
 */
#include <bpf/bpf_helpers.h>
#include <linux/bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("uprobe.multi")
int on_marker(void* registers) { return 0; }
