/* Pairs of USDT probes "forms:NAME__begin" and "forms:NAME__end". Their argument 0 is the same
 * number, once in the form NAME and once as a constant, so a reader that gets a form wrong pairs
 * nothing.
 *
 *     arguments RUNS [--wait] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
    ".asciz \"forms\"\n"                                     \
    ".asciz \"" name "\"\n"                                  \
    ".asciz \"" arguments "\"\n"                             \
    "994: .balign 4\n"                                       \
    ".popsection\n"
#define PAIR(name, begin, end, ...)                                                    \
    __asm__ __volatile__(PROBE(name "__begin", begin) PROBE(name "__end", end)         \
                         : : __VA_ARGS__ : "memory")
/* clang-format on */

static void reach_all(const int64_t* longs, const int32_t* ints, const int16_t* shorts,
                      const uint8_t* bytes, const int32_t* at_the_edge, const uint64_t* times) {
    register int64_t in_r12 __asm__("r12") = 0x123456789abcdef0;
    register int64_t in_r9 __asm__("r9") = 3;
    PAIR("whole_register", "8@%%r12", "8@$1311768467463790320", "r"(in_r12));
    PAIR("signed_part", "-4@%%edi", "-8@$-5", "D"((uint64_t)0xfffffffb));
    PAIR("unsigned_part", "2@%%cx", "8@$65534", "c"((uint64_t)0x1111fffe));
    PAIR("high_byte", "1@%%ah", "4@$127", "a"((uint64_t)0x7f12));
    PAIR("constant", "-4@$-7", "8@%%rbx", "b"((int64_t)-7));
    PAIR("memory", "8@-24(%%rbx)", "-8@$-1000003", "b"(longs + 5));
    PAIR("base", "-2@(%%rsi)", "-1@$-2", "S"(shorts + 2));
    PAIR("sum", "1@8+8-1(%%rbx)", "1@$215", "b"(bytes));
    PAIR("index", "8@(%%rax,%%rcx,8)", "-8@$-1000003", "a"(longs), "c"((int64_t)2));
    PAIR("displaced_index", "-4@-4(%%rdx,%%r9,4)", "-4@$-200002", "d"(ints), "r"(in_r9));
    PAIR("no_base", "4@8(,%%rcx,4)", "4@$-200002", "c"((uintptr_t)ints / 4));
    PAIR("edge", "-4@(%%rdx)", "-4@$-77", "d"(at_the_edge));
    /* Argument 1 of the begin says that it was two seconds ago. */
    PAIR("timed", "8@$9 8@8(%%rax,%%rcx,8)", "8@$9", "a"(times), "c"((int64_t)1));
    PAIR("unreadable", "8f@%%xmm0 8@$3", "8@$1 8@$3", "a"((int64_t)0));
}

int main(int argc, char** argv) {
    const long runs = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    const int64_t longs[6] = {0, 1, -1000003, 3, 4, 5};
    const int32_t ints[4] = {0, -1, -200002, 3};
    const int16_t shorts[4] = {0, 1, -2, 3};
    uint8_t bytes[16] = {0};
    bytes[15] = 215;
    /* The last bytes before unmapped memory: reading more than the argument fails. */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || munmap(pages + page, page) != 0) return 1;
    int32_t* at_the_edge = (int32_t*)(void*)(pages + page) - 1;
    *at_the_edge = -77;
    if (argc > 2) {
        char line[16];
        puts("ready");
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin)) return 1;
    }
    for (long run = 0; run < runs; run++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        const uint64_t times[3] = {
            0, 0, (uint64_t)(now.tv_sec - 2) * 1000000000ULL + (uint64_t)now.tv_nsec};
        reach_all(longs, ints, shorts, bytes, at_the_edge, times);
    }
    printf("{\"runs\": %ld}\n", runs);
    return 0;
}
