/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Input and output of mapped_file.bpf.c.
 */
#ifndef LAGTRAP_BPF_MAPPED_FILE_H
#define LAGTRAP_BPF_MAPPED_FILE_H

#include "bpf/records.h"

struct lagtrap_mapped_file {
    __u64 address; /* input: an address in the caller's memory */
    __u64 inode;   /* 0: no file is mapped there */
    __u32 device;  /* kernel's dev_t: major << 20 | minor */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_mapped_file) == 24, "layout of mapped files");

#endif
