#include "work.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static unsigned long long just_now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
}

static int just_compare(const void* a, const void* b) {
    unsigned x = *(const unsigned*)a, y = *(const unsigned*)b;
    return x < y ? -1 : x > y;
}

__attribute__((noinline)) static unsigned long just_sort(unsigned seed) {
    unsigned numbers[64];
    for (unsigned i = 0; i < 64; i++) numbers[i] = seed = seed * 1664525u + 1013904223u;
    qsort(numbers, 64, sizeof numbers[0], just_compare);
    return numbers[7];
}

__attribute__((noinline)) static unsigned long just_end(clockid_t clock,
                                                        unsigned long long length_ns) {
    unsigned long sum = 0;
    unsigned round = 0;
    unsigned long long until_ns = just_now_ns(clock) + length_ns;
    while (just_now_ns(clock) < until_ns) {
        for (int i = 0; i < 200; i++) sum += just_sort(++round);
        if (round % 1000 == 0) usleep(1000);
    }
    return sum;
}

__attribute__((noinline)) unsigned long just_work(int depth, clockid_t clock,
                                                  unsigned long long length_ns) {
    volatile char room[48];
    memset((char*)room, depth, sizeof room);
    unsigned long sum =
        depth > 0 ? just_work(depth - 1, clock, length_ns) : just_end(clock, length_ns);
    return sum + (unsigned long)room[depth % 48]; /* prevents a tail call */
}
