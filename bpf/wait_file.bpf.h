/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Finds the file that a thread waits for: the one its system call operates on, the one whose
 * page it touched, or the one locked by another program; and the number of requests its disk has
 * at that moment.
 */
#ifndef LAGTRAP_BPF_WAIT_FILE_BPF_H
#define LAGTRAP_BPF_WAIT_FILE_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/kernel_stack.bpf.h"
#include "bpf/recorder.h"

#define WAITING_THREADS 16384 /* remembered at a time; forgetting one loses a file's name */
#define REQUEST_DISKS 256
#define REFUSED_FOR_NS \
    100000000 /* a thread that stops this soon after a refused lock likely stops because of it */
#define PATH_NAMES 24 /* including mounts between them */
#define NAME_BYTES 64
#define LOCKS_LOOKED_AT 32

/* From include/uapi/linux and arch/x86/entry/syscalls/syscall_64.tbl. */
#define CALL_OPEN 2
#define CALL_CONNECT 42
#define CALL_FCNTL 72
#define CALL_FLOCK 73
#define CALL_SEND_TO_QUEUE 242      /* mq_timedsend */
#define CALL_RECEIVE_FROM_QUEUE 243 /* mq_timedreceive */
#define CALL_OPEN_AT 257
#define CALL_OPEN_AT_2 437
#define LOCK_AND_WAIT 7      /* F_SETLKW */
#define OFD_LOCK_AND_WAIT 38 /* F_OFD_SETLKW */
#define FILE_WRITE_LOCK 1    /* F_WRLCK */
#define FILE_UNLOCK 2        /* F_UNLCK */
#define TRY_AGAIN 11         /* EAGAIN */
#define UNINTERRUPTIBLE 2    /* TASK_UNINTERRUPTIBLE, include/linux/sched.h */
#define FILE_FORMAT 0170000  /* S_IFMT */
#define REGULAR_FILE 0100000 /* S_IFREG */
#define DIRECTORY 0040000    /* S_IFDIR */
#define BLOCK_DEVICE 0060000 /* S_IFBLK */
#define POLLED_FILES 4       /* checked per call */

struct path_scratch {
    struct lagtrap_wait_file record;
    char path[LAGTRAP_PATH_BYTES + NAME_BYTES];
};

/* For on_switch, which runs with preemption disabled. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct path_scratch);
} path_scratch SEC(".maps");

/* For the iterator, which is preemptible; one daemon thread runs it at a time. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct path_scratch);
} iterator_path_scratch SEC(".maps");

/* The address of a thread's last page fault: the page was missing, or could not be written as it
 * was (shared with another process, or of a file whose file system must be told first). */
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, __u64);
} touched_addresses SEC(".maps");

struct refused_lock {
    __u64 inode;
    __u64 file; /* the file on which it was tried; 0: unknown */
    __u64 at_ns;
    __u32 holder_pid;
    __u32 padding;
};

/* The last refused lock on a file, by thread. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, WAITING_THREADS);
    __type(key, __u32);
    __type(value, struct refused_lock);
} refused_locks SEC(".maps");

/* Requests a disk has, among those whose begin was seen, by the address of its gendisk. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, REQUEST_DISKS);
    __type(key, __u64);
    __type(value, __s32);
} disk_requests SEC(".maps");

volatile bool locks_refused = false;

static __always_inline __s32* requests_of(const struct gendisk* disk) {
    __u64 key = (__u64)disk;
    __s32* count = bpf_map_lookup_elem(&disk_requests, &key);
    if (count) return count;
    __s32 none = 0;
    bpf_map_update_elem(&disk_requests, &key, &none, BPF_NOEXIST);
    return bpf_map_lookup_elem(&disk_requests, &key);
}

static __always_inline void count_request(struct request* request, int change) {
    __s32* count = requests_of(FOR_POINTERS(request)->q->disk);
    if (!count) return;
    /* Requests from before the recording end without having been counted. */
    if (change > 0 || *count > 0) __sync_fetch_and_add(count, change);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_request_issued, struct request* request) {
    count_request(request, 1);
    return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_request_completed, struct request* request) {
    count_request(request, -1);
    return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_page_fault, unsigned long address) {
    struct task_struct* task = bpf_get_current_task_btf();
    __u64* touched =
        bpf_task_storage_get(&touched_addresses, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (touched) *touched = address;
    return 0;
}

struct lock_facts {
    __u64 owner;
    int pid;
    unsigned char type;
};

static __always_inline struct lock_facts lock_facts(const void* lock) {
    struct lock_facts facts = {};
    if (bpf_core_type_exists(struct file_lock_core)) {
        const struct file_lock_core* core = lock;
        facts.owner = (__u64)BPF_CORE_READ(core, flc_owner);
        facts.pid = BPF_CORE_READ(core, flc_pid);
        facts.type = BPF_CORE_READ(core, flc_type);
    } else {
        const struct file_lock* old = lock;
        facts.owner = (__u64)BPF_CORE_READ(old, fl_owner);
        facts.pid = BPF_CORE_READ(old, fl_pid);
        facts.type = BPF_CORE_READ(old, fl_type);
    }
    return facts;
}

/* A process other than the owner with a lock in the list: preferably for writing, otherwise any;
 * 0 if there is none. */
static __noinline __u32 lock_holder(const struct list_head* list, __u64 owner) {
    __u64 place = bpf_core_type_exists(struct file_lock_core)
                      ? bpf_core_field_offset(struct file_lock_core, flc_list)
                      : bpf_core_field_offset(struct file_lock, fl_list);
    const struct list_head* link = BPF_CORE_READ(list, next);
    __u32 reader = 0;
    for (int i = 0; i < LOCKS_LOOKED_AT && link && link != list; i++) {
        struct lock_facts facts = lock_facts((const char*)link - place);
        link = BPF_CORE_READ(link, next);
        if (facts.owner == owner || facts.pid <= 0) continue;
        if (facts.type == FILE_WRITE_LOCK) return facts.pid;
        reader = facts.pid;
    }
    return reader;
}

static __always_inline const struct list_head* locks_of(const struct inode* inode,
                                                        bool whole_file) {
    struct file_lock_context* context = BPF_CORE_READ(inode, i_flctx);
    if (!context) return NULL;
    return whole_file ? &context->flc_flock : &context->flc_posix;
}

static __always_inline struct file* file_of_descriptor(struct files_struct* files_of_task,
                                                       __u32 descriptor) {
    struct fdtable* table = BPF_CORE_READ(files_of_task, fdt);
    if (!table || descriptor >= BPF_CORE_READ(table, max_fds)) return NULL;
    struct file** files = BPF_CORE_READ(table, fd);
    struct file* file = NULL;
    bpf_probe_read_kernel(&file, sizeof(file), files + descriptor);
    return file;
}

static __always_inline void note_lock_result(struct inode* inode, struct file_lock* lock,
                                             int result, bool whole_file) {
    __u32 tid = (__u32)bpf_get_current_pid_tgid();
    struct lock_facts facts = lock_facts(lock);
    if (result == 0 && facts.type != FILE_UNLOCK && locks_refused) {
        struct refused_lock* refused = bpf_map_lookup_elem(&refused_locks, &tid);
        if (refused && refused->inode == (__u64)inode) bpf_map_delete_elem(&refused_locks, &tid);
    }
    if (result != -TRY_AGAIN) return;
    struct task_struct* task = bpf_get_current_task_btf();
    struct pt_regs___kernel* registers = (void*)bpf_task_pt_regs(task);
    struct refused_lock refused = {.inode = (__u64)inode, .at_ns = bpf_ktime_get_ns()};
    const struct list_head* list = locks_of(inode, whole_file);
    if (list) refused.holder_pid = lock_holder(list, facts.owner);
    if (registers)
        refused.file = (__u64)file_of_descriptor(FOR_POINTERS(task)->files, registers->di);
    bpf_map_update_elem(&refused_locks, &tid, &refused, BPF_ANY);
    locks_refused = true;
}

SEC("tp_btf/posix_lock_inode")
int BPF_PROG(on_lock, struct inode* inode, struct file_lock* lock, int result) {
    if (lock) note_lock_result(inode, lock, result, false);
    return 0;
}

SEC("tp_btf/flock_lock_inode")
int BPF_PROG(on_whole_file_lock, struct inode* inode, struct file_lock* lock, int result) {
    if (lock) note_lock_result(inode, lock, result, true);
    return 0;
}

/* Whether the first argument of the system call is a descriptor of what it reads, writes or
 * flushes. */
static __always_inline bool is_about_a_file(long call) {
    switch (call) {
        case 0:   /* read */
        case 1:   /* write */
        case 8:   /* lseek */
        case 17:  /* pread64 */
        case 18:  /* pwrite64 */
        case 19:  /* readv */
        case 20:  /* writev */
        case 74:  /* fsync */
        case 75:  /* fdatasync */
        case 77:  /* ftruncate */
        case 78:  /* getdents */
        case 187: /* readahead */
        case 217: /* getdents64 */
        case 221: /* fadvise64 */
        case 277: /* sync_file_range */
        case 285: /* fallocate */
        case 295: /* preadv */
        case 296: /* pwritev */
        case 306: /* syncfs */
        case 327: /* preadv2 */
        case 328: /* pwritev2 */ return true;
        default: return false;
    }
}

/* Facts about a stopping thread that determine its file, collected where the verifier still
 * knows the thread. */
struct wait_question {
    __u64 now_ns;
    __u64 task;         /* address of the thread's task */
    __u64 touched_file; /* mapped at its page fault; 0: unknown */
    __s64 call;         /* number of its system call; negative: none */
    __u32 descriptor;   /* the call's first argument */
    __u32 command;      /* the second argument */
    __u32 pid;
    __u32 tid;
    __u32 state;
    __u32 by_iterator;
    __u64 polled;           /* address of an array of struct pollfd */
    struct stack_scan scan; /* for by_iterator, opens and connects */
};

static __always_inline struct files_struct* files_of(const struct wait_question* question) {
    struct task_struct* task = (struct task_struct*)question->task;
    return BPF_CORE_READ(task, files);
}

static __always_inline bool is_about_a_socket(long call) {
    switch (call) {
        case 0:   /* read */
        case 1:   /* write */
        case 19:  /* readv */
        case 20:  /* writev */
        case 40:  /* sendfile */
        case 42:  /* connect */
        case 44:  /* sendto */
        case 45:  /* recvfrom */
        case 46:  /* sendmsg */
        case 47:  /* recvmsg */
        case 299: /* recvmmsg */
        case 307: /* sendmmsg */ return true;
        default: return false;
    }
}

/* select and pselect6 take sets of descriptors instead of an array; handled only for threads
 * that already sleep. */
static __always_inline bool is_poll(long call) { return call == 7 || call == 271; }
static __always_inline bool is_select(long call) { return call == 23 || call == 270; }

static __always_inline bool is_lock_call(const struct wait_question* question) {
    if (question->call == CALL_FLOCK) return true;
    return question->call == CALL_FCNTL &&
           (question->command == LOCK_AND_WAIT || question->command == OFD_LOCK_AND_WAIT);
}

static __always_inline bool is_open(long call) {
    return call == CALL_OPEN || call == CALL_OPEN_AT || call == CALL_OPEN_AT_2;
}

static __always_inline bool is_of_message_queue(long call) {
    return call == CALL_SEND_TO_QUEUE || call == CALL_RECEIVE_FROM_QUEUE;
}

/* Programs sleep that way, such as Perl's and rsync's. */
static __always_inline bool polls_nothing(const struct wait_question* question) {
    return (is_poll(question->call) && question->command == 0) ||
           (is_select(question->call) && question->descriptor == 0);
}

/* False if it does not wait for a file. */
static __always_inline bool ask_about(struct task_struct* task, __u32 state,
                                      struct wait_question* question) {
    struct pt_regs___kernel* registers = (void*)bpf_task_pt_regs(task);
    if (!registers) return false;
    question->call = registers->orig_ax;
    question->descriptor = registers->di;
    question->command = registers->si;
    question->state = state;
    bool of_socket =
        is_about_a_socket(question->call) || is_poll(question->call) || is_select(question->call);
    bool of_path = is_open(question->call) || is_of_message_queue(question->call);
    if (!(state & UNINTERRUPTIBLE) && !is_lock_call(question) && !locks_refused && !of_socket &&
        !of_path)
        return false;
    question->polled = registers->di;
    if (question->by_iterator || is_open(question->call) || question->call == CALL_CONNECT)
        begin_scan(&question->scan, task, !question->by_iterator);
    question->pid = task->tgid;
    question->tid = task->pid;
    question->task = (__u64)task;
    return true;
}

struct found_mapping {
    __u64 file;
};

static long take_mapping(struct task_struct* task, struct vm_area_struct* area,
                         struct found_mapping* found) {
    found->file = (__u64)BPF_CORE_READ(area, vm_file);
    return 0;
}

/* The file mapped at the address of the thread's last page fault. */
static __always_inline __u64 touched_file(struct task_struct* task) {
    __u64* touched = bpf_task_storage_get(&touched_addresses, task, NULL, 0);
    struct found_mapping found = {};
    if (touched) bpf_find_vma(task, *touched, take_mapping, &found, 0);
    return found.file;
}

static __always_inline struct file* refused_file(const struct wait_question* question,
                                                 struct lagtrap_wait_file* record) {
    __u32 tid = question->tid;
    struct refused_lock* refused = locks_refused ? bpf_map_lookup_elem(&refused_locks, &tid) : NULL;
    if (!refused || question->now_ns - refused->at_ns > REFUSED_FOR_NS) return NULL;
    record->kind = LAGTRAP_FILE_REFUSED;
    record->holder_pid = refused->holder_pid;
    return (struct file*)refused->file;
}

/* As struct pollfd (include/uapi/asm-generic/poll.h). */
struct polled_file {
    int descriptor;
    int events;
};

/* The only connected socket among the few that the current thread polls. */
static __always_inline struct file* polled_socket(const struct wait_question* question) {
    struct file* found = NULL;
    if (question->command > POLLED_FILES) return NULL; /* number of polled descriptors */
    for (__u32 i = 0; i < POLLED_FILES && i < question->command; i++) {
        struct polled_file polled = {};
        const void* place = (const void*)(question->polled + i * sizeof(polled));
        if (bpf_probe_read_user(&polled, sizeof(polled), place) != 0 || polled.descriptor < 0)
            return NULL;
        struct file* file = file_of_descriptor(files_of(question), polled.descriptor);
        struct sock* sk = file ? sock_of(file) : NULL;
        if (!sk || !has_internet_peer(sk)) continue;
        if (found) return NULL;
        found = file;
    }
    return found;
}

static __always_inline bool is_pipe(const struct file* file) {
    return (BPF_CORE_READ(file, f_inode, i_mode) & FILE_FORMAT) == PIPE_FILE;
}

/* Whether the call reads from the pipe, or opens it for that. */
static __always_inline bool is_reading(long call, const struct file* pipe) {
    if (is_open(call)) return !(BPF_CORE_READ(pipe, f_mode) & FILE_FOR_WRITING);
    return call == 0 /* read */ || call == 19 /* readv */;
}

/* Waits for the other end of a pipe, or for the lease of another process. */
static __always_inline struct file* opened_file(const struct wait_question* question,
                                                struct lagtrap_wait_file* record) {
    struct stack_scan scan = question->scan;
    bpf_loop(LOOKED_AT_WORDS, find_opened, &scan, 0);
    struct file* file = (struct file*)scan.found;
    if (!file || is_pipe(file)) return file;
    struct file_lock_context* context = BPF_CORE_READ(file, f_inode, i_flctx);
    record->kind = LAGTRAP_FILE_OF_CALL;
    if (!context) return file;
    record->holder_pid = lock_holder(&context->flc_lease, 0);
    if (record->holder_pid != 0) record->kind = LAGTRAP_FILE_LOCK;
    return file;
}

/* A local socket that waits in connect() has no peer yet. */
static __always_inline struct sock* connected_to(const struct wait_question* question,
                                                 struct sock* sk) {
    if (BPF_CORE_READ(sk, __sk_common.skc_family) != FAMILY_LOCAL) return sk;
    struct stack_scan scan = question->scan;
    bpf_loop(LOOKED_AT_WORDS, find_local_listener, &scan, 0);
    return scan.found_sock ? (struct sock*)scan.found_sock : sk;
}

/* The socket or pipe; NULL if there is none. */
static __always_inline struct file* waited_socket(const struct wait_question* question) {
    if (polls_nothing(question)) return NULL;
    if (is_about_a_socket(question->call)) {
        struct file* file = file_of_descriptor(files_of(question), question->descriptor);
        return file && (sock_of(file) || is_pipe(file)) ? file : NULL;
    }
    if (question->by_iterator && (is_poll(question->call) || is_select(question->call))) {
        struct stack_scan scan = question->scan;
        bpf_loop(LOOKED_AT_WORDS, find_socket, &scan, 0);
        return (struct file*)scan.found;
    }
    return is_poll(question->call) ? polled_socket(question) : NULL;
}

/* Finds the file and sets the record's kind and holder. NULL if the wait is not for a file, or
 * the file is unknown. */
static __always_inline struct file* waited_file(const struct wait_question* question,
                                                struct lagtrap_wait_file* record) {
    struct files_struct* files = files_of(question);
    if (is_lock_call(question)) {
        struct file* file = file_of_descriptor(files, question->descriptor);
        const struct list_head* list =
            file ? locks_of(BPF_CORE_READ(file, f_inode), question->call == CALL_FLOCK) : NULL;
        bool by_process = question->call == CALL_FCNTL && question->command == LOCK_AND_WAIT;
        if (list) record->holder_pid = lock_holder(list, by_process ? (__u64)files : (__u64)file);
        record->kind = LAGTRAP_FILE_LOCK;
        return file;
    }
    if (!(question->state & UNINTERRUPTIBLE)) {
        struct file* refused = refused_file(question, record);
        if (refused) return refused;
        if (is_open(question->call)) return opened_file(question, record);
        if (!is_of_message_queue(question->call)) return waited_socket(question);
        record->kind = LAGTRAP_FILE_OF_CALL;
        return file_of_descriptor(files, question->descriptor);
    }
    record->kind = question->call < 0 ? LAGTRAP_FILE_OF_FAULT : LAGTRAP_FILE_OF_CALL;
    if (question->call < 0 && question->by_iterator) {
        struct stack_scan scan = question->scan;
        bpf_loop(LOOKED_AT_WORDS, find_fault, &scan, 0);
        return (struct file*)scan.found;
    }
    if (question->call < 0) return (struct file*)question->touched_file;
    return is_about_a_file(question->call) ? file_of_descriptor(files, question->descriptor) : NULL;
}

/* Sets the kind and the socket's number. False if it has no peer that can be reported. */
static __always_inline bool name_peer(const struct sock* sk, struct lagtrap_wait_file* record) {
    if (BPF_CORE_READ(sk, __sk_common.skc_family) == FAMILY_LOCAL)
        record->kind = LAGTRAP_FILE_LOCAL_PEER;
    else if (has_internet_peer(sk))
        record->kind = kind_of_peer(sk);
    else
        return false;
    record->file = socket_number(sk, record->kind);
    return true;
}

static __always_inline __u32 read_peer(const struct sock* sk, __u8 kind, struct path_scratch* out) {
    if (kind == LAGTRAP_FILE_LOCAL_PEER) return read_local_path(sk, out->path);
    read_internet_peer(sk, (struct lagtrap_peer*)out->path);
    return sizeof(struct lagtrap_peer);
}

static __always_inline bool is_on_a_disk(const struct inode* inode) {
    __u32 format = BPF_CORE_READ(inode, i_mode) & FILE_FORMAT;
    return format == REGULAR_FILE || format == DIRECTORY || format == BLOCK_DEVICE;
}

static __always_inline void read_disk(const struct inode* inode, struct lagtrap_wait_file* record) {
    struct gendisk* disk = BPF_CORE_READ(inode, i_sb, s_bdev, bd_disk);
    if (!disk) return;
    bpf_probe_read_kernel_str(record->disk, sizeof(record->disk), disk->disk_name);
    __u64 key = (__u64)disk;
    __s32* requests = bpf_map_lookup_elem(&disk_requests, &key);
    if (requests && *requests > 0) record->queue_depth = *requests;
}

struct path_walk {
    struct dentry* entry;
    struct vfsmount* mounted; /* NULL: the walk ends at the root of the file system */
    char* path;               /* with room for LAGTRAP_PATH_BYTES + NAME_BYTES */
    __u32 used;
};

/* Reads one name, or leaves one mount; 1 ends the walk. */
static long read_name(__u32 step, struct path_walk* walk) {
    struct dentry* entry = walk->entry;
    struct vfsmount* mounted = walk->mounted;
    struct dentry* parent = BPF_CORE_READ(entry, d_parent);
    if (!mounted && entry == parent) return 1;
    if (mounted && (entry == BPF_CORE_READ(mounted, mnt_root) || entry == parent)) {
        struct mount* mount =
            (struct mount*)((char*)mounted - bpf_core_field_offset(struct mount, mnt));
        struct mount* outer = BPF_CORE_READ(mount, mnt_parent);
        if (outer == mount || !outer) return 1;
        walk->entry = BPF_CORE_READ(mount, mnt_mountpoint);
        walk->mounted = (struct vfsmount*)((char*)outer + bpf_core_field_offset(struct mount, mnt));
        return !walk->entry;
    }
    __u32 used = walk->used;
    if (used >= LAGTRAP_PATH_BYTES) return 1;
    long bytes =
        bpf_probe_read_kernel_str(walk->path + used, NAME_BYTES, BPF_CORE_READ(entry, d_name.name));
    if (bytes <= 0 || bytes > NAME_BYTES) return 1;
    walk->used = used + bytes;
    walk->entry = parent;
    return !parent;
}

/* Writes the file's names, from the last to the first, up to the root of all mounts. Returns
 * their size in bytes. */
static __always_inline __u32 read_path(struct file* file, struct path_scratch* out) {
    struct path_walk walk = {.entry = BPF_CORE_READ(file, f_path.dentry),
                             .mounted = BPF_CORE_READ(file, f_path.mnt),
                             .path = out->path};
    if (!walk.entry || !walk.mounted) return 0;
    bpf_loop(PATH_NAMES, read_name, &walk, 0);
    return walk.used < LAGTRAP_PATH_BYTES ? walk.used : LAGTRAP_PATH_BYTES;
}

#endif
