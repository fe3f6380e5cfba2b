/* The programs that trace objects, compiled for this machine from the same files that the kernel
 * gets. */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/objects.bpf.c"
#include "tests/unit/bpf/native_kernel.h"

struct object_maps {
    void *functions, *classes, *totals, *alive, *released, *object_calls, *stacks, *site_stacks,
        *exit_sites;
};
const struct object_maps object_maps = {
    .functions = &functions,
    .classes = &classes,
    .totals = &totals,
    .alive = &alive,
    .released = &released,
    .object_calls = &object_calls,
    .stacks = &stacks,
    .site_stacks = &site_stacks,
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
    native_define_map(&object_calls, NUMBER(object_calls, type), NUMBER(object_calls, max_entries),
                      0, 0);
    DEFINE_STORAGE(threads);
    DEFINE_STORAGE(creation_walks);
    DEFINE_MAP(functions);
    DEFINE_MAP(classes);
    DEFINE_MAP(totals);
    DEFINE_MAP(alive);
    DEFINE_MAP(released);
    DEFINE_MAP(stacks);
    DEFINE_MAP(site_stacks);
    DEFINE_MAP(blocks);
    DEFINE_MAP(exit_sites);
    DEFINE_MAP(unwind_processes);
    DEFINE_MAP(unwind_tables);
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
void native_set_errno_slot(__u64 address) { set_constant(&errno_slot, &address, sizeof(address)); }
void native_set_memory_by_request(bool by_request) {
    const __u8 value = by_request;
    set_constant(&memory_by_request, &value, sizeof(value));
}

static struct task_struct* current_task;
static struct mm_struct___sums sums;
static struct mm_struct___by_cpu sums_by_cpu;
static struct task_struct___memory memory;

void native_set_task(void* task) { current_task = task; }

void native_set_resident(const __s64 pages[4]) {
    for (int i = 0; i < 4; i++) {
        sums.rss_stat.count[i].counter = pages[i];
        sums_by_cpu.rss_stat[i].count = pages[i];
    }
    memory.mm = native_exists("struct mm_rss_stat") ? (void*)&sums : (void*)&sums_by_cpu;
}

void native_load_programs(void) {
    define_maps();
    native_set_target(0);
    native_set_owner(false, 0);
    native_set_errno_slot(0);
    native_set_memory_by_request(false);
    current_task = NULL;
    memory.mm = NULL;
}

void native_keep_stack(__u64 caller, __u32 function, __u64 id) {
    const struct creation_site site = {.caller = caller, .function = function};
    static struct lagtrap_object_stack stack;
    native_update(&site_stacks, &site, &id);
    native_update(&stacks, &id, &stack);
}

struct task_struct* bpf_get_current_task_btf(void) {
    return current_task;
}
__u64 bpf_get_current_task(void) { return (__u64)current_task; }
void* bpf_task_pt_regs(struct task_struct* task) { return NULL; }
struct vm_area_struct* native_area_at(__u64 place) {
    return NULL;
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
    return &memory;
}
struct unix_sock* native_local(const void* sk) {
    return NULL;
}
