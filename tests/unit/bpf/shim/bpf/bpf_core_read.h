/* Reads of kernel structures. libbpf relocates the fields of a type `task_struct___x` to those
 * of struct task_struct; here each such type is a separate object beside the task
 * (native_programs.c). */
#pragma once

#include <bpf/bpf_helpers.h>

struct task_struct___started;
struct task_struct___leader;
struct task_struct___base;
struct task_struct___memory;
struct task_struct___own_stack;
struct task_struct___queued;
struct unix_sock;

struct task_struct___started* native_started(const void* task);
struct task_struct___leader* native_leader(const void* task);
struct task_struct___base* native_base(const void* task);
struct task_struct___memory* native_memory(const void* task);
struct task_struct___own_stack* native_own_stack(const void* task);
/* Programs read these fields directly. */
struct task_struct___queued* native_queued(const void* task);
#define QUEUED(task) native_queued(task)
/* A local socket's own part, which lies behind its struct sock here. */
struct unix_sock* native_local(const void* sk);
/* The object itself. Where programs check that a number is an address of the kernel, tests mark
 * addresses as such. */
void* native_same(const void* object);

/* clang-format off */
#define NATIVE_PLACE(object) \
    ((typeof(object))_Generic((object), \
        struct task_struct___started*: native_started, \
        struct task_struct___leader*: native_leader, \
        struct task_struct___base*: native_base, \
        struct task_struct___memory*: native_memory, \
        struct task_struct___own_stack*: native_own_stack, \
        struct unix_sock*: native_local, \
        const struct unix_sock*: native_local, \
        default: native_same)(object))
/* clang-format on */

/* 0 if a pointer on the way is NULL, like reads in the kernel. */
extern const __u64 native_zeroes[8];
#define NATIVE_READ_1(from, a)                                                  \
    ({                                                                          \
        typeof(from) native_1_ = native_same(from);                             \
        native_1_ ? native_1_->a : *(const typeof(native_1_->a)*)native_zeroes; \
    })
#define NATIVE_READ_2(from, a, b)                                               \
    ({                                                                          \
        typeof((from)->a) native_2_ = native_same(NATIVE_READ_1(from, a));      \
        native_2_ ? native_2_->b : *(const typeof(native_2_->b)*)native_zeroes; \
    })
#define NATIVE_READ_3(from, a, b, c)                                             \
    ({                                                                           \
        typeof((from)->a->b) native_3_ = native_same(NATIVE_READ_2(from, a, b)); \
        native_3_ ? native_3_->c : *(const typeof(native_3_->c)*)native_zeroes;  \
    })
#define NATIVE_READ_OF(_1, _2, _3, name, ...) name
#define BPF_CORE_READ(from, ...)                                             \
    NATIVE_READ_OF(__VA_ARGS__, NATIVE_READ_3, NATIVE_READ_2, NATIVE_READ_1) \
    (NATIVE_PLACE(from), __VA_ARGS__)
#define NATIVE_STR_1(to, from, a) __builtin_memcpy(to, (from)->a, sizeof(*(to)))
#define NATIVE_STR_2(to, from, a, b) __builtin_memcpy(to, (from)->a->b, sizeof(*(to)))
#define NATIVE_STR_OF(_1, _2, name, ...) name
#define BPF_CORE_READ_STR_INTO(to, from, ...)              \
    NATIVE_STR_OF(__VA_ARGS__, NATIVE_STR_2, NATIVE_STR_1) \
    (to, NATIVE_PLACE(from), __VA_ARGS__)
#define BPF_CORE_READ_BITFIELD(from, a) ((from)->a)

/* Tests name what an older kernel lacks. */
bool native_exists(const char* name);
#define bpf_core_field_exists(field) native_exists(#field)
#define bpf_core_type_exists(type) native_exists(#type)
#define bpf_core_field_offset(type, field) offsetof(type, field)
#define bpf_core_enum_value(type, value) (value)
#define bpf_core_enum_value_exists(type, value) native_exists(#value)
#define bpf_core_type_size(type) sizeof(type)
#define bpf_core_read(to, size, from) bpf_probe_read_kernel(to, size, from)
#define bpf_core_type_id_kernel(type) 0
