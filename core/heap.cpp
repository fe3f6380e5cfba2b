#include "core/heap.hpp"

#include <malloc.h>

namespace lagtrap {
namespace {

constexpr int max_heaps = 2;

}  // namespace

void keep_heap_small() {
#ifdef __GLIBC__
    // Setting these also turns off their automatic growth, up to 32 and 64 MiB.
    (void)::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    (void)::mallopt(M_TRIM_THRESHOLD, 256 * 1024);
    (void)::mallopt(M_ARENA_MAX, max_heaps);
#endif
}

void return_free_memory() {
#ifdef __GLIBC__
    (void)::malloc_trim(0);
#endif
}

}  // namespace lagtrap
