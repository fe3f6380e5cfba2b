// A library whose functions and probes tests watch and then call.
#include "markers/lagtrap.h"

// The numbers keep linkers from merging them.
#define FUNCTION(name, number)                                                \
    extern "C" __attribute__((noinline, visibility("default"))) void name() { \
        __asm__ volatile("nop /* %c0 */" : : "i"(number) : "memory");         \
    }

FUNCTION(marked_begin, 1)
FUNCTION(marked_stage, 2)
FUNCTION(marked_end, 3)
FUNCTION(marked_failed, 4)

extern "C" __attribute__((visibility("default"))) void marked_request_begins(unsigned long key) {
    LAGTRAP_BEGIN_KEY("request", key);
}

extern "C" __attribute__((visibility("default"))) void marked_request_ends(unsigned long key) {
    LAGTRAP_END_KEY("request", key);
}
