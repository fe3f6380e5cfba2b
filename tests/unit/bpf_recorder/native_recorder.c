/* The recorder's programs, compiled for this machine from the same files that the kernel gets. */
#include <stddef.h>

/* What tracepoint programs pass on to bpf_get_stack(). */
static void* const ctx = NULL;

#include "bpf/recorder.bpf.c"
#include "tests/unit/bpf/native_task.h"
#include "tests/unit/bpf/native_unwind.h"

struct recorder_maps {
    void *records, *capture_counters, *history_turns, *timed_sets, *thread_times, *last_switches,
        *disk_requests, *refused_locks, *written_files, *ended_writers, *unwind_processes,
        *namespaced_threads, *stack_copies, *copied_shares, *context_places, *python_processes;
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
    .context_places = &context_places,
    .python_processes = &python_processes,
};

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
    define_unwind_store();
    DEFINE_MAP(copy_scratch);
    DEFINE_MAP(iterator_copy_scratch);
    DEFINE_MAP(copied_shares);
    DEFINE_MAP(context_places);
    DEFINE_MAP(last_contexts);
    DEFINE_MAP(context_scratch);
    DEFINE_MAP(iterator_context_scratch);
    DEFINE_MAP(python_processes);
    DEFINE_MAP(python_threads);
    DEFINE_MAP(python_name_scratch);
    DEFINE_MAP(iterator_python_name_scratch);
}

void native_set_preempt_count_place(__s64 bytes) {
    set_constant(&preempt_count_after_run_queue, &bytes, sizeof(bytes));
}

void native_set_registers(void* registers) { user_registers = registers; }

void native_load_programs(void) {
    define_maps();
    struct lagtrap_recording recording_at_first = {};
    struct lagtrap_copying copying_at_first = {};
    *(struct lagtrap_recording*)&recording = recording_at_first;
    *(struct lagtrap_copying*)&copying = copying_at_first;
    quotas_seen = preempt_count_is_wrong = locks_refused = false;
    writers_ended = files_written_in = ends_wanted_in = contexts_published = python_runs = 0;
    open_files_until_ns = history_turned_ns = 0;
    native_set_preempt_count_place(0);
    forget_task();
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
