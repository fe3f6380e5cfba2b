/* The programs that trace call trees, compiled for this machine from the same files that the
 * kernel gets. */
#include "tests/unit/bpf_calls/native_calls.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/calls.bpf.c"
#include "tests/unit/bpf/native_kernel.h"

const struct call_maps call_maps = {
    .trees = &trees,
    .nodes = &nodes,
    .counts = &counts,
    .totals = &totals,
    .done_trees = &done_trees,
    .goroutines = &goroutines,
    .indirect_sites = &indirect_sites,
    .seen_targets = &seen_targets,
    .exit_sites = &exit_sites,
};

/* In a map's variable, numbers are encoded as lengths of arrays. */
#define NUMBER(map, name) (sizeof(*(map).name) / sizeof(int))
#define DEFINE_MAP(map)                                                                        \
    native_define_map(&(map), NUMBER(map, type), NUMBER(map, max_entries), sizeof(*(map).key), \
                      sizeof(*(map).value))

static void define_maps(void) {
    native_define_map(&done_trees, NUMBER(done_trees, type), NUMBER(done_trees, max_entries), 0, 0);
    native_define_map(&threads, NUMBER(threads, type), 0, sizeof(*threads.key),
                      sizeof(*threads.value));
    DEFINE_MAP(goroutines);
    DEFINE_MAP(trees);
    DEFINE_MAP(nodes);
    DEFINE_MAP(counts);
    DEFINE_MAP(totals);
    DEFINE_MAP(indirect_sites);
    DEFINE_MAP(seen_targets);
    DEFINE_MAP(exit_sites);
}

/* Constants for the programs, which user space writes before it loads the programs. */
static void set_constant(const volatile void* place, const void* value, size_t size) {
    const size_t page = sysconf(_SC_PAGESIZE);
    char* begin = (char*)((size_t)place / page * page);
    mprotect(begin, (size_t)place + size - (size_t)begin, PROT_READ | PROT_WRITE);
    memcpy((void*)place, value, size);
}

void native_set_target(__u32 pid) { set_constant(&target_pid, &pid, sizeof(pid)); }
void native_set_owner(bool asked, __u32 uid) {
    set_constant(&owner_asked, &asked, sizeof(asked));
    set_constant(&owner_uid, &uid, sizeof(uid));
}
void native_set_min_ns(__u64 ns) { set_constant(&min_ns, &ns, sizeof(ns)); }
void native_set_goid_offset(__u32 bytes) { set_constant(&goid_offset, &bytes, sizeof(bytes)); }

static struct task_struct* current_task;
static struct vm_area_struct* area;
static struct task_struct___base base_of_thread;

void native_set_task(void* task) { current_task = task; }
void native_set_area(void* one) { area = one; }
void native_set_thread_base(__u64 base) { base_of_thread.thread.fsbase = base; }

void native_load_programs(void) {
    define_maps();
    native_set_target(0);
    native_set_owner(false, 0);
    native_set_min_ns(0);
    native_set_goid_offset(0);
    native_set_thread_base(0);
    open_trees = 0;
    current_task = NULL;
    area = NULL;
}

void native_switch(bool preempt, void* prev, void* next, unsigned int prev_state) {
    count_switch(preempt, prev, next, prev_state);
}
void native_waking(void* task) { count_waking(task); }
void native_exit_of_thread(void* task) { on_exit_of_thread(task); }
void native_exec_of_thread(void* task) { on_exec_of_thread(task); }

struct task_struct* bpf_get_current_task_btf(void) {
    return current_task;
}
__u64 bpf_get_current_task(void) { return (__u64)current_task; }
void* bpf_task_pt_regs(struct task_struct* task) { return NULL; }
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
    return &base_of_thread;
}
struct task_struct___memory* native_memory(const void* task) {
    return NULL;
}
struct unix_sock* native_local(const void* sk) {
    return NULL;
}
