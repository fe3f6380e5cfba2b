/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Whose data the disks write: the files that the pages of requests belong to, who has them open,
 * and processes that wrote much and have ended. The kernel's own threads issue most of the
 * requests, long after a program has written.
 */
#ifndef LAGTRAP_BPF_WRITTEN_FILES_BPF_H
#define LAGTRAP_BPF_WRITTEN_FILES_BPF_H

#include "bpf/interrupt_level.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/recorder.h"
#include "bpf/wait_file.bpf.h"

#define WRITTEN_FILES 1024
#define MIN_REPORTED_BYTES (1 << 20)
#define REQUEST_OPERATION 0xff /* REQ_OP_MASK, include/linux/blk_types.h */
#define REQUEST_WRITES 1       /* REQ_OP_WRITE */
#define PAGE_OF_NO_FILE 3      /* PAGE_MAPPING_FLAGS, include/linux/page-flags.h */
#define OPEN_FOR_WRITING 2     /* FMODE_WRITE, include/linux/fs.h */
#define ENDED_WRITERS 64
#define LEAST_ENDED_BYTES (16 << 20)

struct written_file {
    __u64 bytes;
    __u64 reported_bytes;
    __u32 capture;
    __u32 padding;
};

/* By the address of the inode. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, WRITTEN_FILES);
    __type(key, __u64);
    __type(value, struct written_file);
} written_files SEC(".maps");

struct written_scratch {
    struct lagtrap_written record;
    char path[LAGTRAP_PATH_BYTES + NAME_BYTES];
    __u64 is_used; /* by what an interrupt, or another thread, interrupted */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct written_scratch);
} written_scratch SEC(".maps");

/* The last ones, in a ring. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, ENDED_WRITERS);
    __type(key, __u32);
    __type(value, struct lagtrap_written);
} ended_writers SEC(".maps");

volatile __u32 writers_ended = 0;
volatile __u32 files_written_in = 0; /* the last capture in which one was reported */

static __always_inline __u64 written_number(__u64 inode) {
    return inode * 0x9e3779b97f4a7c15ULL | 1;
}

/* The file whose first page a request writes; NULL: a program's own buffer, or the file system's
 * own data. */
static __always_inline struct inode* file_of_request(struct request* request) {
    struct bio* bio = FOR_POINTERS(request)->bio;
    if (!bio) return NULL;
    struct bio_vec* parts = BPF_CORE_READ(bio, bi_io_vec);
    struct bio_vec* part = parts ? parts + BPF_CORE_READ(bio, bi_iter.bi_idx) : NULL;
    struct page* page = part ? BPF_CORE_READ(part, bv_page) : NULL;
    if (!page) return NULL;
    __u64 head = BPF_CORE_READ(page, compound_head);
    if (head & 1) page = (struct page*)(head - 1);
    __u64 mapping = (__u64)BPF_CORE_READ(page, mapping);
    if (!mapping || mapping & PAGE_OF_NO_FILE) return NULL;
    struct inode* inode = BPF_CORE_READ((struct address_space*)mapping, host);
    return inode && (BPF_CORE_READ(inode, i_mode) & FILE_FORMAT) == REGULAR_FILE ? inode : NULL;
}

/* As read_path, up to the root of the file system. */
static __always_inline __u32 read_path_of_inode(struct inode* inode, char* path) {
    struct hlist_node* alias = BPF_CORE_READ(inode, i_dentry.first);
    if (!alias) return 0;
    struct dentry* entry =
        (struct dentry*)((char*)alias - bpf_core_field_offset(struct dentry, d_u.d_alias));
    struct path_walk walk = {.entry = entry, .path = path};
    bpf_loop(PATH_NAMES, read_name, &walk, 0);
    return walk.used < LAGTRAP_PATH_BYTES ? walk.used : LAGTRAP_PATH_BYTES;
}

/* Counts the request for its file, and reports the file when it has clearly more than last time. */
static __always_inline struct written_file* count_written(__u64 inode, __u32 bytes) {
    struct written_file* file = bpf_map_lookup_elem(&written_files, &inode);
    if (!file || file->capture != recording.capture) {
        struct written_file first = {.bytes = bytes, .capture = recording.capture};
        bpf_map_update_elem(&written_files, &inode, &first, BPF_ANY);
        return NULL;
    }
    __sync_fetch_and_add(&file->bytes, bytes);
    __u64 more_bytes = file->reported_bytes / 8;
    if (more_bytes < MIN_REPORTED_BYTES) more_bytes = MIN_REPORTED_BYTES;
    return file->bytes - file->reported_bytes >= more_bytes ? file : NULL;
}

static __always_inline bool writes(struct request* request) {
    return (FOR_POINTERS(request)->cmd_flags & REQUEST_OPERATION) == REQUEST_WRITES;
}

/* The number of a file whose writes were reported; 0 if none were. */
static __always_inline __u64 number_if_written(const struct file* file) {
    if (files_written_in != recording.capture || !(BPF_CORE_READ(file, f_mode) & OPEN_FOR_WRITING))
        return 0;
    __u64 inode = (__u64)BPF_CORE_READ(file, f_inode);
    struct written_file* written = bpf_map_lookup_elem(&written_files, &inode);
    return written && written->capture == recording.capture && written->reported_bytes > 0
               ? written_number(inode)
               : 0;
}

/* What a process wrote in its life, into files whether or not these were written to a disk yet. */
static __always_inline __u64 bytes_written_by(struct task_struct* leader) {
    if (!bpf_core_field_exists(leader->ioac.write_bytes)) return 0;
    __u64 bytes =
        BPF_CORE_READ(leader, ioac.write_bytes) + BPF_CORE_READ(leader, signal, ioac.write_bytes);
    __u64 dropped = BPF_CORE_READ(leader, ioac.cancelled_write_bytes);
    return bytes > dropped ? bytes - dropped : 0;
}

/* Of each process, whether or not something is recorded: its data may be written much later. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_writer_ends, struct task_struct* task) {
    if (task->pid != task->tgid || task->flags & TASK_IS_KERNEL_THREAD) return 0;
    __u64 bytes = bytes_written_by(task);
    if (bytes < LEAST_ENDED_BYTES) return 0;
    __u32 place = __sync_fetch_and_add(&writers_ended, 1) % ENDED_WRITERS;
    struct lagtrap_written* ended = bpf_map_lookup_elem(&ended_writers, &place);
    if (!ended) return 0;
    ended->bytes = bytes;
    ended->pid = task->tgid;
    BPF_CORE_READ_STR_INTO(&ended->name, task, comm);
    ended->ended_ns = bpf_ktime_get_ns();
    return 0;
}

#endif
