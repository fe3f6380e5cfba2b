/* Replaces libbpf's header of this name for programs compiled for this machine: found before it,
 * and implemented by native_kernel.cpp and native_programs.c. */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define SEC(name)
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val)* name
#define __array(name, val) typeof(val)* name[]

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#undef __noinline
#define __noinline __attribute__((noinline))

/* An attribute that only the BPF target has. */
#define preserve_access_index

/* A point where another CPU may intervene. Runs what the test has prepared for it. */
void native_before_exchange(void);
void native_at_barrier(void);
#define __sync_val_compare_and_swap(place, old, new) \
    (native_before_exchange(), __sync_val_compare_and_swap(place, old, new))
#define __sync_lock_test_and_set(place, new) \
    (native_before_exchange(), __sync_lock_test_and_set(place, new))
#define barrier() native_at_barrier()
#define barrier_var(variable) asm volatile("" : "+r"(variable))

/* Replace BPF assembly in usdt_argument.bpf.h and kernel.bpf.h. */
#define KEEP_BITS(value, mask) ((value) &= (mask))
#define LOAD_REGISTER(value, ctx, name) (value) = (ctx)->name

struct task_struct;

void* bpf_map_lookup_elem(const void* map, const void* key);
long bpf_map_update_elem(void* map, const void* key, const void* value, __u64 flags);
long bpf_map_delete_elem(void* map, const void* key);

void* bpf_ringbuf_reserve(void* ring, __u64 size, __u64 flags);
void bpf_ringbuf_submit(void* record, __u64 flags);
void bpf_ringbuf_discard(void* record, __u64 flags);
long bpf_ringbuf_output(void* ring, const void* record, __u64 size, __u64 flags);

__u64 bpf_ktime_get_ns(void);
__u32 bpf_get_smp_processor_id(void);
__u64 bpf_get_attach_cookie(const void* ctx);
__u64 bpf_get_current_pid_tgid(void);
__u64 bpf_get_current_uid_gid(void);
__u64 bpf_get_current_cgroup_id(void);
long bpf_get_current_comm(void* comm, __u32 size);
__u64 bpf_get_current_task(void);
struct task_struct* bpf_get_current_task_btf(void);
void* bpf_task_pt_regs(struct task_struct* task);
/* Weak as in libbpf, because the programs check whether it exists. */
void* bpf_rdonly_cast(const void* object, __u32 type) __attribute__((weak));

long bpf_probe_read_kernel(void* to, __u32 size, const void* from);
long bpf_probe_read_user(void* to, __u32 size, const void* from);
long bpf_probe_read_user_str(void* to, __u32 size, const void* from);

long bpf_probe_read_kernel_str(void* to, __u32 size, const void* from);
long bpf_copy_from_user_task(void* to, __u32 size, const void* from, struct task_struct* task,
                             __u64 flags);
long bpf_get_stack(void* ctx, void* to, __u32 size, __u64 flags);
long bpf_get_task_stack(struct task_struct* task, void* to, __u32 size, __u64 flags);
/* Only for the format "%ps" and one address. */
long bpf_snprintf(char* to, __u32 size, const char* format, const __u64* address, __u32 bytes);
void* bpf_task_storage_get(const void* map, struct task_struct* task, void* value, __u64 flags);

/* The memory area with an address; NULL if the test has not set one. */
struct vm_area_struct;
struct vm_area_struct* native_area_at(__u64 place);
/* A macro, like bpf_loop. */
#define bpf_find_vma(task, place, step, context, flags)               \
    ({                                                                \
        struct vm_area_struct* native_area_ = native_area_at(place);  \
        native_area_ ? (step(task, native_area_, context), 0L) : -2L; \
    })

/* A macro, because the steps of loops have contexts of different types. */
#define bpf_loop(count, step, context, flags)                              \
    do {                                                                   \
        for (__u32 native_i_ = 0; native_i_ < (__u32)(count); native_i_++) \
            if (step(native_i_, context)) break;                           \
    } while (0)
