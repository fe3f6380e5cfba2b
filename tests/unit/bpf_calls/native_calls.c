/* The programs that trace call trees, compiled for this machine from the same files that the
 * kernel gets. */
#include "tests/unit/bpf_calls/native_calls.h"

#include "bpf/calls.bpf.c"
#include "tests/unit/bpf/native_traced.h"

const struct call_maps call_maps = {
    .trees = &trees,
    .nodes = &nodes,
    .functions = &functions,
    .totals = &totals,
    .records = &records,
    .goroutines = &goroutines,
    .indirect_sites = &indirect_sites,
    .seen_targets = &seen_targets,
    .exit_sites = &exit_sites,
};

static void define_maps(void) {
    define_traced_maps();
    DEFINE_MAP(goroutines);
    DEFINE_MAP(trees);
    DEFINE_MAP(nodes);
    DEFINE_MAP(indirect_sites);
    DEFINE_MAP(seen_targets);
}

void native_set_goid_offset(__u32 bytes) { set_constant(&goid_offset, &bytes, sizeof(bytes)); }

static struct task_struct___base base_of_thread;

void native_set_thread_base(__u64 base) { base_of_thread.thread.fsbase = base; }

void native_load_programs(void) {
    define_maps();
    forget_target();
    base_of_task = &base_of_thread;
    native_set_goid_offset(0);
    native_set_thread_base(0);
    open_trees = 0;
}

void native_switch(bool preempt, void* prev, void* next, unsigned int prev_state) {
    native_switch_of_woken(preempt, prev, next, prev_state, prev_state);
}
void native_switch_of_woken(bool preempt, void* prev, void* next, unsigned int prev_state,
                            unsigned int state) {
    ((struct task_struct*)prev)->__state = state;
    count_switch(preempt, prev, next, prev_state);
}
void native_waking(void* task) { count_waking(task); }
void native_exit_of_thread(void* task) { on_exit_of_thread(task); }
void native_exec_of_thread(void* task) { on_exec_of_thread(task); }
