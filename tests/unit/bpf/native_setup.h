/* For C files that compile BPF programs for this machine: defines their maps, and sets their
 * constants. Include it after the programs. */
#pragma once

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/bpf/native_kernel.h"

/* In a map's variable, numbers are encoded as lengths of arrays. */
#define NUMBER(map, name) (sizeof(*(map).name) / sizeof(int))
#define DEFINE_MAP(map)                                                                        \
    native_define_map(&(map), NUMBER(map, type), NUMBER(map, max_entries), sizeof(*(map).key), \
                      sizeof(*(map).value))
#define DEFINE_RING(map) \
    native_define_map(&(map), NUMBER(map, type), NUMBER(map, max_entries), 0, 0)
/* A map of values by thread. */
#define DEFINE_STORAGE(map) \
    native_define_map(&(map), NUMBER(map, type), 0, sizeof(*(map).key), sizeof(*(map).value))

/* Constants for the programs, which user space writes before it loads the programs. They stay
 * writable, because GCC places them among variables. */
static void set_constant(const volatile void* place, const void* value, size_t size) {
    const size_t page = sysconf(_SC_PAGESIZE);
    char* begin = (char*)((size_t)place / page * page);
    mprotect(begin, (size_t)place + size - (size_t)begin, PROT_READ | PROT_WRITE);
    memcpy((void*)place, value, size);
}
