/* The event monitor's programs, compiled for this machine from the same files that the kernel gets.
 */
#include "tests/unit/bpf/native_programs.h"

#include <errno.h>

#include "bpf/event_monitor.bpf.c"
#include "bpf/lock_owner.bpf.h"
#include "bpf/throttling.bpf.h"
#include "bpf/wait_object.bpf.h"
#include "tests/unit/bpf/native_setup.h"

const struct native_maps native_maps = {
    .event_configs = &event_configs,
    .event_counters = &event_counters,
    .open_tags = &open_tags,
    .open_slots = &open_slots,
    .notices = &notices,
    .recorded_runs = &recorded_runs,
    .reported_runs = &reported_runs,
    .run_quotas = &run_quotas,
    .program_starts = &program_starts,
    .parties_without_recordings = &parties_without_recordings,
    .timed_sets = &timed_sets,
    .thread_times = &thread_times,
    .marker_configs = &marker_configs,
    .argument_sites = &argument_sites,
    .exit_sites = &exit_sites,
    .limited_parties = &limited_parties,
    .scoped_groups = &scoped_groups,
    .hits_by_party = &hits_by_party,
    .hits_by_process = &hits_by_process,
    .walk_scratches = &walk_scratches,
};

static void define_maps(void) {
    DEFINE_MAP(event_configs);
    DEFINE_MAP(event_counters);
    DEFINE_MAP(open_tags);
    DEFINE_MAP(open_slots);
    DEFINE_MAP(run_quotas);
    DEFINE_MAP(reported_processes);
    DEFINE_MAP(reported_stacks);
    DEFINE_MAP(program_starts);
    DEFINE_MAP(parties_without_recordings);
    DEFINE_MAP(timed_sets);
    DEFINE_MAP(thread_times);
    DEFINE_MAP(marker_configs);
    DEFINE_MAP(argument_sites);
    DEFINE_MAP(exit_sites);
    DEFINE_MAP(limited_parties);
    DEFINE_MAP(hits_by_party);
    DEFINE_MAP(hits_by_process);
    DEFINE_MAP(scoped_groups);
    DEFINE_MAP(walk_scratches);
    DEFINE_MAP(unwind_processes);
    DEFINE_MAP(unwind_tables);
    DEFINE_RING(notices);
    DEFINE_RING(recorded_runs);
    DEFINE_RING(reported_runs);
}

/* The part of the CPU's run queue before its preempt count. */
#define RUN_QUEUE_BYTES 64

struct run_queue {
    char before[RUN_QUEUE_BYTES];
    int preempt_count;
};

/* A task with everything reachable from it. */
struct native_task {
    struct task_struct task;
    struct task_struct___started started;
    struct task_struct___started started_leader;
    struct task_struct___leader leader;
    struct task_struct___base base;
    struct pt_regs___kernel registers;
    struct cred cred;
    struct user_namespace machines_users, outer_users, own_users;
    struct pid_namespace machines_pids, outer_pids;
    struct {
        struct pid pid;
        struct upid inner; /* numbers[1] */
    } numbers;
    struct cfs_rq queue;
    struct run_queue run_queue;
    struct task_struct___queued queued;
    struct css_set groups;
    struct cgroup group;
    struct kernfs_node group_node;
    struct task_struct ancestors[2];
    struct mm_struct memory;
    struct file program;
    struct inode program_inode;
    struct super_block program_system;
};

enum { CURRENT_TASK, PREVIOUS_TASK, NEXT_TASK, TASKS };
static struct native_task tasks[TASKS];

void native_tell_preempt_count(bool reported) {
    const __s64 offset = reported ? offsetof(struct run_queue, preempt_count) : 0;
    set_constant(&preempt_count_after_run_queue, &offset, sizeof(offset));
}

void native_watch_run_queue(__u32 event) {
    const __u32 number = event + 1;
    set_constant(&run_queue_events[0], &number, sizeof(number));
}

void native_want_stacks(__u32 scratch_count) {
    set_constant(&walk_scratch_count, &scratch_count, sizeof(scratch_count));
}

void native_load_programs(void) {
    define_maps();
    struct lagtrap_watch at_first = {.next_look_ns = LAGTRAP_NEVER_NS};
    *(struct lagtrap_watch*)&watch = at_first;
    native_tell_preempt_count(false);
    native_want_stacks(0);
}

/* The user namespace may be inside another one, whose owner counts. */
static void fill_namespaces(struct native_task* to, const struct native_thread* thread) {
    to->outer_users.parent = &to->machines_users;
    to->outer_users.level = 1;
    to->outer_users.owner.val = thread->namespace_owner;
    to->outer_users.ns.inum = thread->user_namespace;
    to->own_users.parent = &to->outer_users;
    to->own_users.level = 2;
    to->own_users.owner.val = thread->uid;
    to->own_users.ns.inum = thread->user_namespace + 1;
    to->cred.user_ns = !thread->user_namespace ? &to->machines_users
                       : thread->nested        ? &to->own_users
                                               : &to->outer_users;
    to->outer_pids.ns.inum = thread->pid_namespace;
    to->outer_pids.user_ns =
        thread->machines_pid_namespace ? &to->machines_users : &to->outer_users;
    to->numbers.pid.level = thread->pid_namespace ? 1 : 0;
    to->numbers.pid.numbers[0].ns = &to->machines_pids;
    to->numbers.inner.ns = &to->outer_pids;
    to->task.thread_pid = &to->numbers.pid;
}

static void fill_program(struct native_task* to, const struct native_thread* thread) {
    to->task.mm = &to->memory;
    to->memory.exe_file = &to->program;
    to->program.f_inode = &to->program_inode;
    to->program_inode.i_ino = thread->program_inode;
    to->program_inode.i_sb = &to->program_system;
    to->program_system.s_dev = thread->program_device;
}

static struct task_struct* fill_task(struct native_task* to, const struct native_thread* thread) {
    memset(to, 0, sizeof(*to));
    to->task.pid = thread->tid;
    to->task.tgid = thread->pid;
    to->task.prio = thread->priority;
    to->task.in_iowait = thread->in_iowait;
    to->task.frozen = thread->frozen;
    to->task.se.sum_exec_runtime = thread->ran_ns;
    to->task.se.cfs_rq = &to->queue;
    to->task.real_cred = &to->cred;
    to->cred.uid.val = thread->uid;
    fill_namespaces(to, thread);
    to->queue.throttle_count = thread->throttled;
    to->queue.rq = (struct rq*)&to->run_queue;
    to->run_queue.preempt_count = thread->preempt_count;
    to->started.start_time = thread->started_ns;
    to->started.group_leader = &to->started_leader;
    to->started_leader.start_time = thread->process_started_ns;
    to->leader.group_leader = &to->leader;
    to->leader.start_boottime = thread->process_started_ns;
    memcpy(to->leader.comm, thread->comm, sizeof(to->leader.comm));
    to->queued.on_cpu = thread->on_cpu;
    to->queued.cgroups = &to->groups;
    to->groups.dfl_cgrp = &to->group;
    to->group.kn = &to->group_node;
    to->group_node.id = thread->group;
    to->task.real_parent = &to->ancestors[0];
    to->ancestors[0].tgid = thread->ancestors[0];
    to->ancestors[0].real_parent = &to->ancestors[1];
    to->ancestors[1].tgid = thread->ancestors[1];
    to->ancestors[1].real_parent = &to->ancestors[1]; /* as of the first process */
    fill_program(to, thread);
    to->registers.ip = thread->program_counter;
    to->registers.orig_ax = thread->call;
    to->registers.di = thread->call_arguments[0];
    to->registers.si = thread->call_arguments[1];
    to->registers.cs = thread->is_32_bit ? USER_CODE_32_BIT : 0x33;
    return &to->task;
}

struct task_struct* bpf_get_current_task_btf(void) {
    return fill_task(&tasks[CURRENT_TASK], native_current());
}
__u64 bpf_get_current_task(void) { return (__u64)bpf_get_current_task_btf(); }

/* The task that contains this part: a program may hold the address of the task or of something
 * in it. */
static struct native_task* task_with(const void* part) {
    return &tasks[((const char*)part - (const char*)tasks) / sizeof(tasks[0])];
}

void* bpf_task_pt_regs(struct task_struct* task) { return &task_with(task)->registers; }
struct task_struct___started* native_started(const void* task) {
    return &task_with(task)->started;
}
struct task_struct___leader* native_leader(const void* task) {
    return &task_with(task)->leader;
}
struct task_struct___base* native_base(const void* task) {
    return &task_with(task)->base;
}
struct task_struct___queued* native_queued(const void* task) {
    return &task_with(task)->queued;
}
struct task_struct___memory* native_memory(const void* task) {
    return NULL;
}
struct unix_sock* native_local(const void* sk) {
    return NULL;
}
struct vm_area_struct* native_area_at(__u64 place) {
    return NULL;
}
void* bpf_rdonly_cast(const void* object, __u32 type) {
    (void)type;
    return (void*)object;
}

static struct pt_regs registers_at(const struct native_registers* from) {
    struct pt_regs registers = {.rsp = from->stack_pointer,
                                .rip = from->instruction,
                                .rdi = from->rdi,
                                .rsi = from->rsi,
                                .rdx = from->rdx,
                                .rax = from->rax,
                                .rcx = from->rcx,
                                .eflags = from->flags};
    return registers;
}

void native_on_site(const struct native_registers* registers) {
    struct pt_regs context = registers_at(registers);
    on_site(&context);
}

void native_on_usdt(const struct native_registers* registers) {
    struct pt_regs context = registers_at(registers);
    on_usdt(&context);
}

void native_on_function(const struct native_registers* registers) {
    struct pt_regs context = registers_at(registers);
    on_function(&context);
}

static struct task_struct* previous_task(const struct native_thread* thread, __u32 prev_state) {
    struct task_struct* task = fill_task(&tasks[PREVIOUS_TASK], thread);
    task->__state = thread->woken_early ? thread->woken_state : prev_state;
    return task;
}

void native_switch(bool preempt, const struct native_thread* prev, const struct native_thread* next,
                   __u32 prev_state) {
    count_switch(preempt, previous_task(prev, prev_state), fill_task(&tasks[NEXT_TASK], next),
                 prev_state);
}

void native_waking(const struct native_thread* wakee) {
    count_waking(fill_task(&tasks[NEXT_TASK], wakee));
}

void native_queue_switch(bool preempt, const struct native_thread* prev,
                         const struct native_thread* next, __u32 prev_state) {
    on_queue_switch(preempt, previous_task(prev, prev_state), fill_task(&tasks[NEXT_TASK], next),
                    prev_state);
}

void native_queue_new(const struct native_thread* thread) {
    on_queue_new(fill_task(&tasks[NEXT_TASK], thread));
}

void native_queue_wakeup(const struct native_thread* thread) {
    on_queue_wakeup(fill_task(&tasks[NEXT_TASK], thread));
}

__u64 native_register_value(struct pt_regs* registers, __u32 number) {
    return register_value(registers, number);
}

__u32 native_owner_in(const __u32* words, __u64 address, __u32 operation) {
    return owner_in(words, address, operation);
}

bool native_has_quota(__u64 own, __u64 around) {
    struct task_group outer = {.cfs_bandwidth = {.quota = around}};
    struct task_group inner = {.parent = &outer, .cfs_bandwidth = {.quota = own}};
    struct task_struct task = {.sched_task_group = &inner};
    return has_quota(&task);
}

__u64 native_wait_object(const struct native_thread* thread) {
    return wait_object(fill_task(&tasks[CURRENT_TASK], thread));
}
