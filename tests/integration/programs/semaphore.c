/* A USDT probe with a semaphore where the linker places it, as with sys/sdt.h. */
#include <stdio.h>

volatile unsigned short step_semaphore __attribute__((section(".probes"), visibility("hidden"))) =
    0;

/* clang-format off */
#define PROBE(name)                                 \
    "990: nop\n"                                    \
    ".pushsection .note.stapsdt,\"?\",\"note\"\n"   \
    ".balign 4\n"                                   \
    ".4byte 992f-991f, 994f-993f, 3\n"              \
    "991: .asciz \"stapsdt\"\n"                     \
    "992: .balign 4\n"                              \
    "993: .8byte 990b, 0, step_semaphore\n"         \
    ".asciz \"semaphore\"\n"                        \
    ".asciz \"" name "\"\n"                         \
    ".asciz \"\"\n"                                 \
    "994: .balign 4\n"                              \
    ".popsection\n"
/* clang-format on */

int main(void) {
    char line[16];
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 2;
    for (int round = 0; round < 100; ++round) {
        if (step_semaphore != 0) __asm__ __volatile__(PROBE("step__begin") : : : "memory");
        if (step_semaphore != 0) __asm__ __volatile__(PROBE("step__end") : : : "memory");
    }
    puts("{\"rounds\":100}");
    fflush(stdout);
    return 0;
}
