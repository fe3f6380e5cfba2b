/* DEEP_LIBRARY is its name, DEEP_ROOM the size of its frames, so that the tables of two
 * libraries differ. In a shared library, its functions call each other through the PLT. */
#include "deep_library.h"

DEEP_DECLARE(DEEP_LIBRARY);

#define OWN __attribute__((noinline, noclone, noipa))

OWN void DEEP_NAME(DEEP_LIBRARY, tiny)(int value) {
    __asm__ volatile("" ::"r"(value) : "rbx", "rbp", "r12", "r13");
}

OWN void DEEP_NAME(DEEP_LIBRARY, spin)(int rounds) {
    for (int i = 0; i < rounds; ++i) __asm__ volatile("" ::: "memory");
}

OWN void DEEP_NAME(DEEP_LIBRARY, climb)(int frames, int rounds) {
    char room[DEEP_ROOM];
    __asm__ volatile("" ::"r"(room) : "memory", "rbx", "rbp");
    if (frames > 1)
        DEEP_NAME(DEEP_LIBRARY, climb)(frames - 1, rounds);
    else
        DEEP_NAME(DEEP_LIBRARY, spin)(rounds);
    __asm__ volatile("" ::"r"(room) : "memory");
}

OWN void DEEP_NAME(DEEP_LIBRARY, enter)(int frames, int rounds) {
    DEEP_NAME(DEEP_LIBRARY, climb)(frames, rounds);
    __asm__ volatile("" ::: "memory");
}
