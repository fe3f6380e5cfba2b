/* The recorder's programs, compiled for this machine from the same files that the kernel gets. */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/bpf/native_kernel.h"

/* What tracepoint programs pass on to bpf_get_stack(). */
static void* const ctx = NULL;

#include "bpf/recorder.bpf.c"

struct recorder_maps {
    void *records, *capture_counters, *history_turns, *timed_sets, *thread_times, *last_switches,
        *disk_requests, *refused_locks, *written_files, *ended_writers, *unwind_processes,
        *namespaced_threads, *stack_copies, *copied_shares;
};
const struct recorder_maps recorder_maps = {
    .records = &records,
    .capture_counters = &capture_counters,
    .history_turns = &history_turns,
    .timed_sets = &timed_sets,
    .thread_times = &thread_times,
    .last_switches = &last_switches,
    .disk_requests = &disk_requests,
    .refused_locks = &refused_locks,
    .written_files = &written_files,
    .ended_writers = &ended_writers,
    .unwind_processes = &unwind_processes,
    .namespaced_threads = &namespaced_threads,
    .stack_copies = &stack_copies,
    .copied_shares = &copied_shares,
};

/* In a map's variable, numbers are encoded as lengths of arrays. */
#define NUMBER(map, name) (sizeof(*(map).name) / sizeof(int))
#define DEFINE_MAP(map)                                                                        \
    native_define_map(&(map), NUMBER(map, type), NUMBER(map, max_entries), sizeof(*(map).key), \
                      sizeof(*(map).value))
#define DEFINE_RING(map) \
    native_define_map(&(map), NUMBER(map, type), NUMBER(map, max_entries), 0, 0)
/* A map of values by thread. */
#define DEFINE_STORAGE(map) \
    native_define_map(&(map), NUMBER(map, type), 0, sizeof(*(map).key), sizeof(*(map).value))

static void define_maps(void) {
    DEFINE_RING(records);
    DEFINE_RING(history_turns);
    DEFINE_RING(stack_copies);
    DEFINE_STORAGE(touched_addresses);
    DEFINE_MAP(scratch);
    DEFINE_MAP(iterator_scratch);
    DEFINE_MAP(iterator_thread);
    DEFINE_MAP(seen_stacks);
    DEFINE_MAP(capture_counters);
    DEFINE_MAP(last_switches);
    DEFINE_MAP(path_scratch);
    DEFINE_MAP(iterator_path_scratch);
    DEFINE_MAP(refused_locks);
    DEFINE_MAP(disk_requests);
    DEFINE_MAP(throttled_queues);
    DEFINE_MAP(namespaced_threads);
    DEFINE_MAP(now_on_cpu);
    DEFINE_MAP(local_packets);
    DEFINE_MAP(wanted_ends);
    DEFINE_MAP(written_files);
    DEFINE_MAP(written_scratch);
    DEFINE_MAP(ended_writers);
    DEFINE_MAP(history_cpus);
    DEFINE_MAP(waits_begun);
    DEFINE_MAP(timed_sets);
    DEFINE_MAP(thread_times);
    DEFINE_MAP(unwind_processes);
    DEFINE_MAP(unwind_tables);
    DEFINE_MAP(copy_scratch);
    DEFINE_MAP(iterator_copy_scratch);
    DEFINE_MAP(copied_shares);
}

/* Constants for the programs, which user space writes before it loads the programs. */
static void set_constant(const volatile void* place, const void* value, size_t size) {
    const size_t page = sysconf(_SC_PAGESIZE);
    char* begin = (char*)((size_t)place / page * page);
    mprotect(begin, (size_t)place + size - (size_t)begin, PROT_READ | PROT_WRITE);
    memcpy((void*)place, value, size);
}

void native_set_preempt_count_place(__s64 bytes) {
    set_constant(&preempt_count_after_run_queue, &bytes, sizeof(bytes));
}

static struct task_struct* current_task;
static void* user_registers;
static struct vm_area_struct* area;

void native_set_task(void* task) { current_task = task; }
void native_set_registers(void* registers) { user_registers = registers; }
void native_set_area(void* one) { area = one; }

void native_load_programs(void) {
    define_maps();
    struct lagtrap_recording recording_at_first = {};
    struct lagtrap_copying copying_at_first = {};
    *(struct lagtrap_recording*)&recording = recording_at_first;
    *(struct lagtrap_copying*)&copying = copying_at_first;
    quotas_seen = preempt_count_is_wrong = locks_refused = false;
    writers_ended = files_written_in = ends_wanted_in = 0;
    open_files_until_ns = history_turned_ns = 0;
    native_set_preempt_count_place(0);
    current_task = NULL;
    user_registers = NULL;
    area = NULL;
}

struct task_struct* bpf_get_current_task_btf(void) {
    return current_task;
}
__u64 bpf_get_current_task(void) { return (__u64)current_task; }
void* bpf_task_pt_regs(struct task_struct* task) { return user_registers; }
struct vm_area_struct* native_area_at(__u64 place) {
    return area && place >= area->vm_start && place < area->vm_end ? area : NULL;
}
void* bpf_rdonly_cast(const void* object, __u32 type) { return native_same(object); }
struct task_struct___started* native_started(const void* task) {
    return NULL;
}
struct task_struct___leader* native_leader(const void* task) {
    return NULL;
}
struct task_struct___base* native_base(const void* task) {
    return NULL;
}
struct task_struct___memory* native_memory(const void* task) {
    return NULL;
}
struct unix_sock* native_local(const void* sk) {
    return sk ? (struct unix_sock*)((struct sock*)native_same(sk) + 1) : NULL;
}

bool native_is_throttled(void* task) { return is_throttled(task); }
bool native_has_quota(void* task) { return has_quota(task); }
__u32 native_party_of(void* task) { return party_of(task); }
int native_preempt_count(void) { return preempt_count_now(); }
int native_level_of(int preempt_count) { return level_of(preempt_count); }
void* native_sock_of(const void* file) { return sock_of(file); }
void native_read_internet_peer(const void* sk, struct lagtrap_peer* peer) {
    read_internet_peer(sk, peer);
}
__u8 native_kind_of_peer(const void* sk) { return kind_of_peer(sk); }
__u64 native_socket_number(const void* sk, __u8 kind) { return socket_number(sk, kind); }
__u32 native_read_local_path(const void* sk, char* path) { return read_local_path(sk, path); }
__u32 native_lock_holder(const void* list, __u64 owner) { return lock_holder(list, owner); }
__u64 native_stack_id(__u32 pid, bool of_kernel, const __u64* frames, __u32 count) {
    return lagtrap_stack_id(
        (__u64)pid << 1 | (of_kernel ? LAGTRAP_STACK_KERNEL : LAGTRAP_STACK_USER), frames, count);
}
