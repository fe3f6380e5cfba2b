/* The programs that trace functions, compiled for this machine from the same files that the
 * kernel gets. */
#include "tests/unit/bpf_functions/native_functions.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/functions.bpf.c"
#include "tests/unit/bpf/native_kernel.h"

const struct function_maps function_maps = {
    .functions = &functions,
    .totals = &totals,
    .traced_calls = &traced_calls,
    .runtime_sites = &runtime_sites,
    .runtime_names = &runtime_names,
    .exit_sites = &exit_sites,
};

/* In a map's variable, numbers are encoded as lengths of arrays. */
#define NUMBER(map, name) (sizeof(*(map).name) / sizeof(int))
#define DEFINE_MAP(map)                                                                        \
    native_define_map(&(map), NUMBER(map, type), NUMBER(map, max_entries), sizeof(*(map).key), \
                      sizeof(*(map).value))
/* A map of values by thread. */
#define DEFINE_STORAGE(map) \
    native_define_map(&(map), NUMBER(map, type), 0, sizeof(*(map).key), sizeof(*(map).value))

static void define_maps(void) {
    native_define_map(&traced_calls, NUMBER(traced_calls, type), NUMBER(traced_calls, max_entries),
                      0, 0);
    DEFINE_STORAGE(threads);
    DEFINE_STORAGE(runtime_threads);
    DEFINE_MAP(functions);
    DEFINE_MAP(totals);
    DEFINE_MAP(runtime_sites);
    DEFINE_MAP(runtime_names);
    DEFINE_MAP(exit_sites);
}

/* A constant for the programs, which user space writes before it loads the programs. */
void native_set_target(__u32 pid) {
    const size_t page = sysconf(_SC_PAGESIZE);
    char* begin = (char*)((size_t)&target_pid / page * page);
    mprotect(begin, (size_t)(&target_pid + 1) - (size_t)begin, PROT_READ | PROT_WRITE);
    memcpy((void*)&target_pid, &pid, sizeof(pid));
}

static struct task_struct* current_task;
static struct vm_area_struct* areas[2];
static struct mm_struct___own_stack own_memory;
static struct task_struct___own_stack own_stack;

void native_set_task(void* task) { current_task = task; }
void native_set_areas(void* one, void* other) {
    areas[0] = one;
    areas[1] = other;
}
void native_set_own_stack(__u64 start_stack, __u64 thread_base) {
    own_memory.start_stack = start_stack;
    own_stack.mm = &own_memory;
    own_stack.thread.fsbase = thread_base;
}

void native_load_programs(void) {
    define_maps();
    native_set_target(0);
    native_set_own_stack(0, 0);
    current_task = NULL;
    native_set_areas(NULL, NULL);
}

void native_switch(void* prev, void* next) { count_off_cpu(false, prev, next); }

struct task_struct* bpf_get_current_task_btf(void) {
    return current_task;
}
__u64 bpf_get_current_task(void) { return (__u64)current_task; }
void* bpf_task_pt_regs(struct task_struct* task) { return NULL; }
struct vm_area_struct* native_area_at(__u64 place) {
    for (int i = 0; i < 2; i++)
        if (areas[i] && place >= areas[i]->vm_start && place < areas[i]->vm_end) return areas[i];
    return NULL;
}
void* bpf_rdonly_cast(const void* object, __u32 type) { return native_same(object); }
struct task_struct___own_stack* native_own_stack(const void* task) {
    return &own_stack;
}
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
    return NULL;
}
