/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Finds the file that is really behind a mapping of the caller. A file of an overlay has its own
 * inode number, but what is mapped and probed is a file of one of its layers, the same for all
 * containers of an image. stat(2) and /proc show it only up to Linux 6.7.
 */
#include "bpf/mapped_file.h"

#include "bpf/kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct lagtrap_mapped_file mapped_file;

static long note_file(struct task_struct* task, struct vm_area_struct* area,
                      struct lagtrap_mapped_file* found) {
    struct file* file = BPF_CORE_READ(area, vm_file);
    if (!file) return 0;
    found->inode = BPF_CORE_READ(file, f_inode, i_ino);
    found->device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
    return 0;
}

/* Run by its caller (BPF_PROG_TEST_RUN), never attached. */
SEC("raw_tp")
int look_at_mapping(void* ctx) {
    struct lagtrap_mapped_file found = {};
    long failed =
        bpf_find_vma(bpf_get_current_task_btf(), mapped_file.address, note_file, &found, 0);
    mapped_file.inode = found.inode;
    mapped_file.device = found.device;
    return (int)failed;
}
