// The heap of a program that runs for weeks.
#pragma once

namespace lagtrap {

// What is freed goes back to the kernel soon, and all threads share two heaps. By itself the C library makes up to eight
// heaps for each CPU, and each keeps what its threads once needed: after an hour of captures, nine tenths of the daemon's
// memory were free. To be called first in main(). Where the C library has no mallopt(3) nothing happens.
void keep_heap_small();

// Gives back the pages that are free between others in use (malloc_trim(3)); takes less than a millisecond. To be called now
// and then by services, from any thread.
void return_free_memory();

}  // namespace lagtrap
