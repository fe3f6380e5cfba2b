/* The programs that trace objects, compiled for this machine from the same files that the kernel
 * gets. */
#include "tests/unit/bpf_objects/native_objects.h"

#include "bpf/objects.bpf.c"
#include "tests/unit/bpf/native_traced.h"
#include "tests/unit/bpf/native_unwind.h"

const struct object_maps object_maps = {
    .functions = &functions,
    .classes = &classes,
    .totals = &totals,
    .alive = &alive,
    .released = &released,
    .records = &records,
    .stacks = &stacks,
    .site_stacks = &site_stacks,
    .exit_sites = &exit_sites,
};

static void define_maps(void) {
    define_traced_maps();
    DEFINE_STORAGE(creation_walks);
    DEFINE_MAP(classes);
    DEFINE_MAP(alive);
    DEFINE_MAP(released);
    DEFINE_MAP(stacks);
    DEFINE_MAP(site_stacks);
    DEFINE_MAP(blocks);
    define_unwind_store();
}

void native_set_errno_slot(__u64 address) { set_constant(&errno_slot, &address, sizeof(address)); }
void native_set_memory_by_request(bool by_request) {
    const __u8 value = by_request;
    set_constant(&memory_by_request, &value, sizeof(value));
}

static struct mm_struct___sums sums;
static struct mm_struct___by_cpu sums_by_cpu;
static struct task_struct___memory memory;

void native_set_resident(const __s64 pages[4]) {
    for (int i = 0; i < 4; i++) {
        sums.rss_stat.count[i].counter = pages[i];
        sums_by_cpu.rss_stat[i].count = pages[i];
    }
    memory.mm = native_exists("struct mm_rss_stat") ? (void*)&sums : (void*)&sums_by_cpu;
}

void native_load_programs(void) {
    define_maps();
    forget_target();
    memory.mm = NULL;
    memory_of_task = &memory;
    native_set_errno_slot(0);
    native_set_memory_by_request(false);
}

void native_set_registers(void* registers) { user_registers = registers; }

void native_switch(void* prev, void* next) { count_off_cpu(false, prev, next); }

void native_keep_stack(__u64 caller, __u32 function, __u64 id) {
    const struct creation_site site = {.caller = caller, .function = function};
    static struct lagtrap_object_stack stack;
    native_update(&site_stacks, &site, &id);
    native_update(&stacks, &id, &stack);
}
