/* just_started AGE_MS SLOW_MS: works for AGE_MS, then has one slow run of the event "first" that
 * takes SLOW_MS of CPU time, however busy the machine is. A delay right after the start, when
 * nothing is known yet of the program and its library. */
#include <lagtrap.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"

int main(int count, char** words) {
    if (count != 3) {
        fprintf(stderr, "usage: just_started AGE_MS SLOW_MS\n");
        return 2;
    }
    unsigned long sum = just_work(6, CLOCK_MONOTONIC, strtoull(words[1], NULL, 10) * 1000000ULL);
    LAGTRAP_BEGIN("first");
    sum += just_work(20, CLOCK_THREAD_CPUTIME_ID, strtoull(words[2], NULL, 10) * 1000000ULL);
    LAGTRAP_END("first");
    printf("%lu\n", sum);
    return 0;
}
