/* For C files that compile BPF programs that walk user stacks: the store of unwind tables. Include
 * it after the programs. */
#pragma once

#include "tests/unit/bpf/native_setup.h"
#include "tests/unit/bpf/unwind_maps.h"

static struct unwind_region native_regions[UNWIND_REGIONS];

const struct unwind_maps unwind_maps = {.processes = &unwind_processes,
                                        .tables = &unwind_tables,
                                        .regions = {&native_regions[0], &native_regions[1]}};

static void define_unwind_store(void) {
    DEFINE_MAP(unwind_processes);
    DEFINE_MAP(unwind_tables);
    native_define_map(&unwind_regions, NUMBER(unwind_regions, type),
                      NUMBER(unwind_regions, max_entries), sizeof(*unwind_regions.key),
                      sizeof(void*));
    for (__u32 i = 0; i < UNWIND_REGIONS; i++) {
        struct unwind_region* one = &native_regions[i];
        native_define_map(one, NUMBER(*one, type), NUMBER(*one, max_entries), sizeof(*one->key),
                          NUMBER(*one, value_size));
        native_update(&unwind_regions, &i, &one);
    }
}
