"""The programs whose functions the benchmark functions.py traces."""


# Requests of 27 calls; one in 1,000 has much to look up. Without arguments it runs on and prints
# each quarter of a second how many it did per second. Otherwise it does that many after an input
# line, and prints how often it called each function.
PLANTED = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define KEPT __attribute__((noinline, noclone))
static volatile long sink;
static long counts[6];
__attribute__((always_inline, no_instrument_function)) static inline void work(int rounds) {
    for (int i = 0; i < rounds; i++) sink = sink + i;
}
KEPT void next_word(void) { counts[2]++; work(150); }
KEPT void read_words(void) { counts[1]++; for (int i = 0; i < 16; i++) next_word(); sink = 0; }
KEPT void hash_word(void) { counts[4]++; work(100); }
KEPT void look_up(int slow) {
    counts[3]++;
    for (int i = 0; i < 7; i++) hash_word();
    if (slow) work(300000);
    sink = 0;
}
KEPT void answer(void) { counts[5]++; work(500); }
KEPT void handle_request(long number) {
    counts[0]++;
    read_words();
    look_up(number % 1000 == 999);
    answer();
    sink = 0;
}
static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(int argc, char** argv) {
    long number = 0;
    if (argc > 1) {
        if (argc == 2 && getchar() == EOF) return 1;
        while (number < atol(argv[1])) handle_request(number++);
        for (int i = 0; i < 6; i++) fprintf(stderr, "%ld ", counts[i]);
        fprintf(stderr, "\\n");
        return 0;
    }
    for (;;) {
        long long begin = now(), done = 0;
        while (now() - begin < 250000000LL) { handle_request(number++); done++; }
        printf("%lld\\n", done * 1000000000LL / (now() - begin));
        fflush(stdout);
    }
}
"""
# Calls one function after another; prints the nanoseconds per call for each input line.
HOT = """
#include <stdio.h>
#include <time.h>
static volatile long sink;
__attribute__((noinline)) void hot(void) {
    __asm__ volatile("push %rbp; pop %rbp");
    sink = sink + 1;
}
static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(void) {
    char line[8];
    while (fgets(line, sizeof line, stdin)) {
        long long begin = now();
        for (int i = 0; i < 20000; i++) hot();
        printf("%lld\\n", (now() - begin) / 20000);
        fflush(stdout);
    }
}
"""
# Calls its functions in turn, about 20 million times a second. Prints after each 10 ms of its CPU
# time the current time, the number of calls per second of CPU time, and the CPU time.
MANY = """
#include <stdio.h>
#include <time.h>
static volatile long sink;
{functions}
__attribute__((noinline)) void call_all(void) {{ {calls} sink = sink + 1; }}
__attribute__((no_instrument_function)) static long long now(clockid_t clock) {{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}}
int main(void) {{
    for (;;) {{
        long long begin = now(CLOCK_PROCESS_CPUTIME_ID), end = begin, rounds = 0;
        while (end - begin < 10000000LL) {{
            call_all();
            rounds++;
            end = now(CLOCK_PROCESS_CPUTIME_ID);
        }}
        printf("%lld %lld %lld\\n", now(CLOCK_MONOTONIC),
               rounds * {count} * 1000000000LL / (end - begin), end);
        fflush(stdout);
    }}
}}
"""
