/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * The kernel types that the BPF programs read, with only the fields used. CO-RE relocates them
 * to the running kernel's layout, so the build does not depend on the build machine's kernel.
 */
#ifndef LAGTRAP_BPF_KERNEL_BPF_H
#define LAGTRAP_BPF_KERNEL_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#define KERNEL_TYPE __attribute__((preserve_access_index))

/* Use `pointer` through this to read pointers from it. For each pointer read through a trusted
 * pointer, the verifier searches all kernel types, up to four times on every path, for one whose
 * name marks the new pointer as trusted (kernel/bpf/btf.c, btf_nested_type_is_trusted()). That
 * takes milliseconds per pointer. Helpers need the trusted pointer itself. */
#define FOR_POINTERS(pointer) \
    ((typeof(pointer))without_trust(pointer, bpf_core_type_id_kernel(typeof(*(pointer)))))
static __always_inline void* without_trust(void* pointer, __u32 type) {
    /* Kernel commit a35b9af4ec2c (6.2); no call at run time. */
    return bpf_rdonly_cast ? bpf_rdonly_cast(pointer, type) : pointer;
}

/* Masks an index after its check, because compilers move the check to another copy of the value. */
#ifndef KEEP_BITS /* tests also compile this for other targets than BPF */
#define KEEP_BITS(value, mask) asm volatile("%0 &= %1" : "+r"(value) : "i"(mask))
#endif

struct gendisk {
    char disk_name[32];
} KERNEL_TYPE;

struct block_device {
    struct gendisk* bd_disk;
} KERNEL_TYPE;

struct super_block {
    __u32 s_dev;
    struct block_device* s_bdev;
} KERNEL_TYPE;

struct list_head {
    struct list_head* next;
} KERNEL_TYPE;

/* The locks held on a file. */
struct file_lock_context {
    struct list_head flc_flock;
    struct list_head flc_posix;
    struct list_head flc_lease;
} KERNEL_TYPE;

struct hlist_node {
    struct hlist_node* next;
} KERNEL_TYPE;

struct hlist_head {
    struct hlist_node* first;
} KERNEL_TYPE;

struct inode {
    unsigned short i_mode;
    unsigned long i_ino;
    struct super_block* i_sb;
    struct file_lock_context* i_flctx;
    struct hlist_head i_dentry; /* the names of the file that are known */
} KERNEL_TYPE;

struct qstr {
    const unsigned char* name;
} KERNEL_TYPE;

union dentry_links {
    struct hlist_node d_alias;
} KERNEL_TYPE;

struct dentry {
    struct dentry* d_parent;
    struct qstr d_name;
    struct inode* d_inode; /* NULL: there is no file of this name */
    union dentry_links d_u;
} KERNEL_TYPE;

struct vfsmount {
    struct dentry* mnt_root;
} KERNEL_TYPE;

struct mount {
    struct mount* mnt_parent;
    struct dentry* mnt_mountpoint;
    struct vfsmount mnt;
} KERNEL_TYPE;

struct path {
    struct vfsmount* mnt;
    struct dentry* dentry;
} KERNEL_TYPE;

struct file {
    unsigned int f_mode;
    struct inode* f_inode;
    struct path f_path;
    void* private_data; /* for a socket's file: its struct socket */
} KERNEL_TYPE;

struct in6_addr {
    __u8 bytes[16];
};

struct net;

typedef struct {
    struct net* net;
} KERNEL_TYPE possible_net_t;

typedef struct {
    int counter;
} KERNEL_TYPE atomic_t;

/* Addresses and ports in network byte order, but for skc_num. */
struct sock_common {
    unsigned short skc_family;
    volatile unsigned char skc_state;
    __be32 skc_daddr;
    __be32 skc_rcv_saddr;
    __be16 skc_dport;
    __u16 skc_num;
    possible_net_t skc_net;
    struct in6_addr skc_v6_daddr;
    struct in6_addr skc_v6_rcv_saddr;
} KERNEL_TYPE;

struct net_device {
    char name[16];
    unsigned int flags;
} KERNEL_TYPE;

struct dst_entry {
    struct net_device* dev;
} KERNEL_TYPE;

struct socket;

struct sock {
    struct sock_common __sk_common;
    struct socket* sk_socket;
    __u16 sk_protocol;
    struct dst_entry* sk_dst_cache;
    __u32 sk_ack_backlog;     /* of a listener: connections that were not accepted yet, */
    __u32 sk_max_ack_backlog; /* and how many these may be */
    atomic_t sk_drops;
} KERNEL_TYPE;

struct socket {
    struct file* file;
    struct sock* sk;
} KERNEL_TYPE;

struct sockaddr_un {
    unsigned short sun_family;
    char sun_path[108];
} KERNEL_TYPE;

/* The name a local socket is bound to. */
struct unix_address {
    int len;
    struct sockaddr_un name[];
} KERNEL_TYPE;

struct unix_sock {
    struct unix_address* addr;
    struct sock* peer;
} KERNEL_TYPE;

struct fdtable {
    unsigned int max_fds;
    struct file** fd;
} KERNEL_TYPE;

struct files_struct {
    struct fdtable* fdt;
} KERNEL_TYPE;

/* A lock; the first member of file_lock since kernel commit 587a67b6830b (6.9). */
struct file_lock_core {
    struct list_head flc_list;
    void* flc_owner;
    unsigned char flc_type;
    int flc_pid;
} KERNEL_TYPE;

struct file_lock {
    int fl_pid;
    unsigned char fl_type;
    void* fl_owner;
    struct list_head fl_list;
} KERNEL_TYPE;

struct mm_struct;

struct vm_area_struct {
    unsigned long vm_start;
    unsigned long vm_end;
    struct mm_struct* vm_mm;
    struct file* vm_file;
} KERNEL_TYPE;

struct mm_struct {
    struct file* exe_file;
} KERNEL_TYPE;

/* A page fault being handled; lives on the kernel stack. */
struct vm_fault {
    struct vm_area_struct* vma;
    unsigned long address;
} KERNEL_TYPE;

struct thread_struct {
    unsigned long sp; /* kernel stack pointer while the thread is not running */
    unsigned long fsbase;
} KERNEL_TYPE;

typedef struct {
    __u32 val;
} kuid_t;

/* 8 bytes in all kernels; type and member were renamed in 6.3. */
struct kernel_capabilities {
    __u64 val;
};

struct ns_common {
    unsigned int inum;
} KERNEL_TYPE;

struct user_namespace {
    struct user_namespace* parent;
    int level; /* 0: the machine's own */
    kuid_t owner;
    struct ns_common ns;
} KERNEL_TYPE;

struct pid_namespace {
    struct user_namespace* user_ns; /* its creator's */
    struct ns_common ns;
} KERNEL_TYPE;

struct upid {
    int nr;
    struct pid_namespace* ns;
} KERNEL_TYPE;

/* A thread's numbers: one per pid namespace, from the machine's (level 0) to its own. */
struct pid {
    unsigned int level;
    struct upid numbers[1];
} KERNEL_TYPE;

struct cred {
    kuid_t uid;
    kuid_t suid;
    kuid_t euid;
    struct kernel_capabilities cap_permitted;
    struct user_namespace* user_ns;
} KERNEL_TYPE;

/* The kernel's record of a call with a return probe (include/linux/uprobes.h). */
struct return_instance {
    unsigned long stack; /* address of the slot whose return address was replaced */
    unsigned long orig_ret_vaddr;
    struct return_instance* next;
} KERNEL_TYPE;

struct uprobe_task {
    struct return_instance* return_instances;
    unsigned long vaddr;     /* of the probed instruction */
    unsigned long xol_vaddr; /* where its copy executes */
} KERNEL_TYPE;

struct hrtimer;

struct timer_list {
    void* function;
} KERNEL_TYPE;

/* Timers that wake the thread which set them (include/linux/hrtimer.h, kernel/time/). */
struct hrtimer_sleeper {
    struct task_struct* task;
} KERNEL_TYPE;

struct process_timer {
    struct task_struct* task;
} KERNEL_TYPE;

struct irqaction {
    const char* name;
} KERNEL_TYPE;

struct sk_buff {
    struct net_device* dev;
} KERNEL_TYPE;

struct napi_struct;

struct throtl_data;

struct request_queue {
    struct gendisk* disk;
    struct throtl_data* td; /* of limits of control groups; NULL: never any */
} KERNEL_TYPE;

struct kernfs_node {
    __u64 id;
    const char* name;
} KERNEL_TYPE;

struct cgroup {
    struct kernfs_node* kn;
} KERNEL_TYPE;

struct cgroup_subsys_state {
    struct cgroup* cgroup;
} KERNEL_TYPE;

enum cgroup_subsys_id { io_cgrp_id = 3 };

struct css_set {
    struct cgroup_subsys_state* subsys[12];
    struct cgroup* dfl_cgrp; /* of version 2 */
} KERNEL_TYPE;

/* A control group's share of all disks, and of one disk. */
struct blkcg {
    struct cgroup_subsys_state css;
    struct hlist_head blkg_list;
} KERNEL_TYPE;

struct blkg_policy_data;

struct blkcg_gq {
    struct request_queue* q;
    struct hlist_node blkcg_node;
    struct blkcg* blkcg;
    struct blkcg_gq* parent;
    struct blkg_policy_data* pd[6];
} KERNEL_TYPE;

struct blkg_policy_data {
    struct blkcg_gq* blkg;
} KERNEL_TYPE;

/* The requests that limits hold back; index: reads, writes. The queues were divided in 6.16. */
struct throtl_service_queue {
    unsigned int nr_queued[2];
    unsigned int nr_queued_bps[2];
    unsigned int nr_queued_iops[2];
} KERNEL_TYPE;

struct throtl_grp {
    struct blkg_policy_data pd;
    struct throtl_data* td;
    struct throtl_service_queue service_queue;
    __u64 bps[2];
    unsigned int iops[2];
} KERNEL_TYPE;

struct throtl_grp___levels {
    __u64 bps[2][2];
    unsigned int iops[2][2];
} KERNEL_TYPE;

struct address_space {
    struct inode* host;
} KERNEL_TYPE;

struct page {
    struct address_space* mapping;
    unsigned long compound_head;
} KERNEL_TYPE;

struct bio_vec {
    struct page* bv_page;
    unsigned int bv_len;
    unsigned int bv_offset;
}; /* the same in all kernels: arrays of them are walked */

struct bvec_iter {
    unsigned int bi_idx;
} KERNEL_TYPE;

struct bio {
    struct bvec_iter bi_iter;
    struct bio_vec* bi_io_vec;
} KERNEL_TYPE;

struct request {
    struct request_queue* q;
    unsigned int cmd_flags;
    unsigned int __data_len;
    struct bio* bio;
} KERNEL_TYPE;

struct rq;

struct cfs_rq {
    struct rq* rq;      /* the CPU's; like all of this, only in kernels with group scheduling */
    int throttle_count; /* number of enclosing groups over their quota */
} KERNEL_TYPE;

struct cfs_bandwidth {
    __u64 quota;
} KERNEL_TYPE;

struct task_group {
    struct task_group* parent;
    struct cfs_bandwidth cfs_bandwidth;
} KERNEL_TYPE;

struct sched_entity {
    struct cfs_rq* cfs_rq;
    __u64 sum_exec_runtime;
    __u64 prev_sum_exec_runtime; /* its value when the thread got its CPU; fair class only */
} KERNEL_TYPE;

struct task_io_accounting {
    __u64 write_bytes;
    __u64 cancelled_write_bytes;
} KERNEL_TYPE;

typedef struct {
    unsigned long sig[1];
} KERNEL_TYPE sigset_t;

struct sigpending {
    sigset_t signal;
} KERNEL_TYPE;

struct signal_struct {
    struct task_io_accounting ioac; /* of threads that have ended */
    struct sigpending shared_pending;
} KERNEL_TYPE;

struct task_struct {
    unsigned int __state;
    unsigned int flags;
    int prio;
    int pid;
    int tgid;
    struct task_struct* real_parent;
    struct task_struct* group_leader;
    __u64 start_boottime;
    const struct cred* real_cred;
    struct pid* thread_pid;
    struct mm_struct* mm;
    struct files_struct* files;
    struct css_set* cgroups;
    struct signal_struct* signal;
    sigset_t blocked;
    struct sigpending pending;
    struct task_io_accounting ioac;
    unsigned in_iowait : 1;
    unsigned frozen : 1; /* by its control group; its state looks like that of an ordinary wait */
    struct uprobe_task* utask;
    struct sched_entity se;
    unsigned int policy;
    struct task_group* sched_task_group;
    int softirq_disable_cnt; /* only with PREEMPT_RT */
    char comm[16];
    void* stack; /* kernel stack */
    struct thread_struct thread;
} KERNEL_TYPE;

/* The kernel's names for the user-space registers it saves (x86-64). */
struct pt_regs___kernel {
    unsigned long bp;
    unsigned long ip;
    unsigned long sp;
    unsigned long cs;
    unsigned long di; /* di and si: arguments of a system call */
    unsigned long si;
    unsigned long orig_ax; /* number of the system call; -1 in interrupts and exceptions */
} KERNEL_TYPE;

#define USER_CODE_32_BIT 0x23 /* __USER32_CS, arch/x86/include/asm/segment.h */

struct seq_file;

struct bpf_iter_meta {
    struct seq_file* seq;
    __u64 session_id;
    __u64 seq_num;
} KERNEL_TYPE;

struct bpf_iter__task {
    struct bpf_iter_meta* meta;
    struct task_struct* task;
} KERNEL_TYPE;

struct bpf_iter__task_file {
    struct bpf_iter_meta* meta;
    struct task_struct* task;
    __u32 fd;
    struct file* file;
} KERNEL_TYPE;

#define TASK_IS_KERNEL_THREAD 0x00200000 /* PF_KTHREAD, include/linux/sched.h */
#define TASK_IS_BEING_WOKEN 0x200        /* TASK_WAKING, include/linux/sched.h */

/* For sched_switch: whether the thread that leaves its CPU still wants one. A thread that blocks
 * can be woken before it has left: the scheduler releases the lock of the run queue while it
 * searches other CPUs for work. The tracepoint then has the old state, the thread the new one. */
static __always_inline bool wants_cpu(const struct task_struct* prev, bool preempt,
                                      __u32 prev_state) {
    __u32 state = *(volatile __u32*)&prev->__state;
    return preempt || prev_state == 0 || state == 0 || state == TASK_IS_BEING_WOKEN;
}

#endif
