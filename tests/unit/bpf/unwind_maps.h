/* The store of unwind tables, for tests that fill it (unwind_store.hpp). */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#define UNWIND_REGIONS 2
struct unwind_maps {
    void *processes, *tables, *regions[UNWIND_REGIONS];
};
extern const struct unwind_maps unwind_maps;

#ifdef __cplusplus
}
#endif
