/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Tells whether the kernel holds back the disk requests of a thread's control group, because the
 * group is at its limit of bytes or operations per second (io.max, blkio.throttle).
 */
#ifndef LAGTRAP_BPF_DISK_LIMIT_BPF_H
#define LAGTRAP_BPF_DISK_LIMIT_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/records.h"
#include "bpf/wait_file.bpf.h"

#define DISKS_OF_GROUP 8 /* checked */
#define GROUPS_AROUND 8  /* checked */
#define GROUP_POLICIES 6 /* BLKCG_MAX_POLS, include/linux/blkdev.h */
#define LIMIT_READS 0    /* READ and WRITE, include/linux/kernel.h */
#define LIMIT_WRITES 1
#define NO_BYTE_LIMIT (~0ULL)
#define NO_OPERATION_LIMIT (~0U)

/* The limits of the group for its disk; NULL if none were ever set there. */
static __always_inline struct throtl_grp* limits_of(const struct blkcg_gq* group) {
    struct throtl_data* disk = BPF_CORE_READ(group, q, td);
    for (int i = 0; disk && i < GROUP_POLICIES; i++) {
        struct throtl_grp* limits = NULL;
        bpf_probe_read_kernel(
            &limits, sizeof(limits),
            (const char*)group + bpf_core_field_offset(struct blkcg_gq, pd) + i * sizeof(void*));
        /* Other policies have data of other types there. */
        if (limits && BPF_CORE_READ(limits, td) == disk) return limits;
    }
    return NULL;
}

static __always_inline __u32 read_count(const void* counts, __u32 direction) {
    __u32 count = 0;
    bpf_probe_read_kernel(&count, sizeof(count), (const __u32*)counts + direction);
    return count;
}

/* Since 6.16, a request waits in one queue for bytes and then in another for operations. */
static __always_inline bool holds_for_bytes(const struct throtl_service_queue* queue,
                                            __u32 direction) {
    if (bpf_core_field_exists(queue->nr_queued_bps))
        return read_count(&queue->nr_queued_bps, direction) > 0;
    return read_count(&queue->nr_queued, direction) > 0;
}

static __always_inline bool holds_for_operations(const struct throtl_service_queue* queue,
                                                 __u32 direction) {
    if (bpf_core_field_exists(queue->nr_queued_iops))
        return read_count(&queue->nr_queued_iops, direction) > 0;
    return read_count(&queue->nr_queued, direction) > 0;
}

/* Until 6.11, there were two levels of limits; the second is the one that holds. */
static __always_inline __u64 byte_limit(const struct throtl_grp* limits, __u32 direction) {
    __u64 limit = NO_BYTE_LIMIT;
    const struct throtl_grp___levels* old = (const void*)limits;
    const __u64* place = bpf_core_field_exists(old->bps) ? &old->bps[0][0] + direction * 2 + 1
                                                         : &limits->bps[0] + direction;
    bpf_probe_read_kernel(&limit, sizeof(limit), place);
    return limit;
}

static __always_inline __u32 operation_limit(const struct throtl_grp* limits, __u32 direction) {
    __u32 limit = NO_OPERATION_LIMIT;
    const struct throtl_grp___levels* old = (const void*)limits;
    const __u32* place = bpf_core_field_exists(old->iops) ? &old->iops[0][0] + direction * 2 + 1
                                                          : &limits->iops[0] + direction;
    bpf_probe_read_kernel(&limit, sizeof(limit), place);
    return limit;
}
static __always_inline bool holds(const struct throtl_grp* limits, __u32 direction) {
    return holds_for_bytes(&limits->service_queue, direction) ||
           holds_for_operations(&limits->service_queue, direction);
}

/* The group nearest to the thread's that holds such requests back; NULL if none. */
static __always_inline struct throtl_grp* holding_group(const struct blkcg_gq* group,
                                                        bool writes_too) {
    for (int i = 0; group && i < GROUPS_AROUND; i++) {
        struct throtl_grp* limits = limits_of(group);
        if (limits && (holds(limits, LIMIT_READS) || (writes_too && holds(limits, LIMIT_WRITES))))
            return limits;
        group = BPF_CORE_READ(group, parent);
    }
    return NULL;
}

/* The limits of disks of the task's control group; NULL if the kernel has none. */
static __always_inline const struct blkcg* disk_groups_of(struct task_struct* task) {
    if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, io_cgrp_id)) return NULL;
    const struct blkcg* groups = NULL;
    const char* all = (const char*)BPF_CORE_READ(task, cgroups);
    if (!all) return NULL;
    bpf_probe_read_kernel(&groups, sizeof(groups),
                          all + bpf_core_field_offset(struct css_set, subsys) +
                              bpf_core_enum_value(enum cgroup_subsys_id, io_cgrp_id) * 8);
    return groups;
}

static __always_inline bool only_reads(const struct wait_question* question) {
    switch (question->call) {
        case 0:   /* read */
        case 17:  /* pread64 */
        case 19:  /* readv */
        case 295: /* preadv */
        case 327: /* preadv2 */ return true;
        default: return question->call < 0;
    }
}

static __always_inline int report_limit(const struct wait_question* question,
                                        const struct throtl_grp* limits, __u32 direction) {
    const struct blkcg_gq* group = BPF_CORE_READ(limits, pd.blkg);
    struct lagtrap_disk_limit* record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
    if (!record) return 0;
    __builtin_memset(record, 0, sizeof(*record));
    fill_header(&record->header, LAGTRAP_RECORD_DISK_LIMIT, sizeof(*record), question->now_ns);
    record->pid = question->pid;
    record->tid = question->tid;
    record->writes = direction == LIMIT_WRITES;
    __u64 bytes = byte_limit(limits, direction);
    __u32 operations = operation_limit(limits, direction);
    if (bytes != NO_BYTE_LIMIT && holds_for_bytes(&limits->service_queue, direction))
        record->bytes_per_s = bytes;
    if (operations != NO_OPERATION_LIMIT && holds_for_operations(&limits->service_queue, direction))
        record->operations_per_s = operations;
    struct gendisk* disk = BPF_CORE_READ(group, q, disk);
    if (disk) bpf_probe_read_kernel_str(record->disk, sizeof(record->disk), disk->disk_name);
    struct kernfs_node* node = BPF_CORE_READ(group, blkcg, css.cgroup, kn);
    bpf_probe_read_kernel_str(record->group, sizeof(record->group), BPF_CORE_READ(node, name));
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    return 0;
}

/* Global, so that the verifier checks it once. */
__noinline int note_disk_limit(const struct wait_question* question) {
    if (!question || !(question->state & UNINTERRUPTIBLE)) return 0;
    const struct blkcg* disks = disk_groups_of((struct task_struct*)question->task);
    if (!disks) return 0;
    struct hlist_node* link = BPF_CORE_READ(disks, blkg_list.first);
    for (int i = 0; link && i < DISKS_OF_GROUP; i++) {
        const struct blkcg_gq* group =
            (const void*)((const char*)link - bpf_core_field_offset(struct blkcg_gq, blkcg_node));
        struct throtl_grp* limits = holding_group(group, !only_reads(question));
        if (limits)
            return report_limit(question, limits,
                                holds(limits, LIMIT_READS) ? LIMIT_READS : LIMIT_WRITES);
        link = BPF_CORE_READ(link, next);
    }
    return 0;
}

static __always_inline void note_wait(const struct wait_question* question) {
    note_wait_file(question);
    note_disk_limit(question);
}

#endif
