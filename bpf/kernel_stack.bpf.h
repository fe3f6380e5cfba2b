/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Finds data on the kernel stack of a sleeping thread: the mapping of its page fault, the
 * sockets that it polls, the file that it opens, the socket to which it connects. No argument or
 * register has them. Each word that may be a pointer is checked by what it points to.
 */
#ifndef LAGTRAP_BPF_KERNEL_STACK_BPF_H
#define LAGTRAP_BPF_KERNEL_STACK_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/socket_peer.bpf.h"

#define KERNEL_STACK_BYTES 16384 /* THREAD_SIZE, arch/x86/include/asm/page_64_types.h */
#define LOOKED_AT_WORDS 768      /* words of the innermost calls to search */
#define LEAST_KERNEL_ADDRESS 0xff00000000000000ULL

struct stack_scan {
    __u64 place;
    __u64 end;
    __u64 mm;    /* of the thread */
    __u64 found; /* address of a struct file; 0: none yet */
    __u64 found_sock;
};

/* Callbacks of bpf_loop(); returning 1 ends the loop. */
static long find_fault(__u32 step, struct stack_scan* scan) {
    if (scan->place >= scan->end) return 1;
    struct vm_fault* fault = (struct vm_fault*)scan->place;
    scan->place += sizeof(__u64);
    struct vm_area_struct* area = BPF_CORE_READ(fault, vma);
    if ((__u64)area < LEAST_KERNEL_ADDRESS || (__u64)BPF_CORE_READ(area, vm_mm) != scan->mm)
        return 0;
    __u64 address = BPF_CORE_READ(fault, address);
    if (address < BPF_CORE_READ(area, vm_start) || address >= BPF_CORE_READ(area, vm_end)) return 0;
    scan->found = (__u64)BPF_CORE_READ(area, vm_file);
    return 1;
}

/* Finds the only connected socket; nothing if there are two. */
static long find_socket(__u32 step, struct stack_scan* scan) {
    if (scan->place >= scan->end) return 1;
    struct file* file = NULL;
    bpf_probe_read_kernel(&file, sizeof(file), (const void*)scan->place);
    scan->place += sizeof(__u64);
    if ((__u64)file < LEAST_KERNEL_ADDRESS) return 0;
    struct sock* sk = sock_of(file);
    if (!sk || (__u64)sk == scan->found_sock || !has_internet_peer(sk)) return 0;
    scan->found = scan->found_sock ? 0 : (__u64)file;
    if (scan->found_sock) return 1;
    scan->found_sock = (__u64)sk;
    return 0;
}

/* Finds the file of a path that is being opened. */
static long find_opened(__u32 step, struct stack_scan* scan) {
    if (scan->place >= scan->end) return 1;
    struct file* file = NULL;
    bpf_probe_read_kernel(&file, sizeof(file), (const void*)scan->place);
    scan->place += sizeof(__u64);
    if ((__u64)file < LEAST_KERNEL_ADDRESS) return 0;
    struct inode* inode = BPF_CORE_READ(file, f_inode);
    if ((__u64)inode < LEAST_KERNEL_ADDRESS) return 0;
    if ((__u64)BPF_CORE_READ(file, f_path.mnt) < LEAST_KERNEL_ADDRESS ||
        BPF_CORE_READ(file, f_path.dentry, d_inode) != inode)
        return 0;
    scan->found = (__u64)file;
    return 1;
}

/* Finds the local socket that listens where the thread connects to. */
static long find_local_listener(__u32 step, struct stack_scan* scan) {
    if (scan->place >= scan->end) return 1;
    struct sock* sk = NULL;
    bpf_probe_read_kernel(&sk, sizeof(sk), (const void*)scan->place);
    scan->place += sizeof(__u64);
    if ((__u64)sk < LEAST_KERNEL_ADDRESS || !is_local_listener(sk)) return 0;
    if (BPF_CORE_READ(sk, sk_socket, sk) != sk) return 0;
    scan->found_sock = (__u64)sk;
    return 1;
}

/* `running`: it has not stopped yet, so it is unknown where its innermost calls are. */
static __always_inline void begin_scan(struct stack_scan* scan, struct task_struct* task,
                                       bool running) {
    scan->end = (__u64)FOR_POINTERS(task)->stack + KERNEL_STACK_BYTES;
    scan->place =
        running ? scan->end - LOOKED_AT_WORDS * sizeof(__u64) : FOR_POINTERS(task)->thread.sp;
    scan->mm = (__u64)FOR_POINTERS(task)->mm;
    scan->found = scan->found_sock = 0;
}

#endif
