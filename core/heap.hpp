// Keeps the heap of long-running programs small.
#pragma once

namespace lagtrap {

// Returns freed memory to the kernel early, and makes all threads share two heaps. By default, the
// C library creates up to eight heaps per CPU, each of which keeps the most its threads ever
// needed; after an hour of captures, 90 % of the daemon's memory was free. Call first in main().
// Does nothing if the C library has no mallopt(3).
void keep_heap_small();

// Returns free pages between used ones to the kernel (malloc_trim(3)). Takes less than a
// millisecond. Services call it now and then, from any thread.
void return_free_memory();

}  // namespace lagtrap
