/* The programs that trace functions, compiled for this machine from the same files that the
 * kernel gets. */
#include "tests/unit/bpf_functions/native_functions.h"

#include "bpf/functions.bpf.c"
#include "tests/unit/bpf/native_traced.h"

const struct function_maps function_maps = {
    .functions = &functions,
    .totals = &totals,
    .records = &records,
    .runtime_sites = &runtime_sites,
    .runtime_names = &runtime_names,
    .exit_sites = &exit_sites,
};

static void define_maps(void) {
    define_traced_maps();
    DEFINE_STORAGE(runtime_threads);
    DEFINE_MAP(runtime_sites);
    DEFINE_MAP(runtime_names);
}

static struct mm_struct___own_stack own_memory;
static struct task_struct___own_stack own_stack;

void native_set_own_stack(__u64 start_stack, __u64 thread_base) {
    own_memory.start_stack = start_stack;
    own_stack.mm = &own_memory;
    own_stack.thread.fsbase = thread_base;
}

void native_load_programs(void) {
    define_maps();
    forget_target();
    native_set_own_stack(0, 0);
}

void native_switch(void* prev, void* next) { count_off_cpu(false, prev, next); }

struct task_struct___own_stack* native_own_stack(const void* task) {
    return &own_stack;
}
