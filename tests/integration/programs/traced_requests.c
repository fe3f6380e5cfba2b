/* Requests that carry a trace context as text, to a function and to the USDT probes
 * "requests:begin" and "requests:end": one slow request for each argument, "-" for none, "!" for
 * an unmapped address.
 *
 *     traced_requests MILLISECONDS TEXT... [--wait] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#define PROBE(name, arguments)                               \
    "990: nop\n"                                             \
    ".pushsection .note.stapsdt,\"?\",\"note\"\n"            \
    ".balign 4\n"                                            \
    ".4byte 992f-991f, 994f-993f, 3\n"                       \
    "991: .asciz \"stapsdt\"\n"                              \
    "992: .balign 4\n"                                       \
    "993: .8byte 990b, 0, 0\n"                               \
    ".asciz \"requests\"\n"                                  \
    ".asciz \"" name "\"\n"                                  \
    ".asciz \"" arguments "\"\n"                             \
    "994: .balign 4\n"                                       \
    ".popsection\n"
/* clang-format on */

static long milliseconds;

static void wait_for_answer(void) {
    const struct timespec length = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&length, NULL);
}

__attribute__((noinline)) void serve_request(int number, const char* context) {
    __asm__ __volatile__("" : : "r"(number), "r"(context) : "memory");
    wait_for_answer();
    __asm__ __volatile__("" : : : "memory");
}

static void serve_by_probe(int64_t number, const char* context) {
    __asm__ __volatile__(PROBE("begin", "8@%%rdi 8@%%rsi")
                         :
                         : "D"(number), "S"(context)
                         : "memory");
    wait_for_answer();
    __asm__ __volatile__(PROBE("end", "8@%%rdi") : : "D"(number) : "memory");
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    milliseconds = strtol(argv[1], NULL, 10);
    if (strcmp(argv[argc - 1], "--wait") == 0) {
        argc--;
        puts("ready");
        fflush(stdout);
        if (getchar() == EOF) return 1;
    }
    for (int i = 2; i < argc; i++) {
        /* The program reuses the text's memory during the request. */
        char text[128];
        snprintf(text, sizeof(text), "%s", argv[i]);
        const char* context = strcmp(text, "-") == 0   ? NULL
                              : strcmp(text, "!") == 0 ? (const char*)64
                                                       : text;
        serve_request(i, context);
        serve_by_probe(i, context);
    }
    puts("done");
    fflush(stdout);
    while (getchar() != EOF) continue;
    return 0;
}
