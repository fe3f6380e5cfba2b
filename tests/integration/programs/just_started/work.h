/* The work of the program, in a library that no other program maps. */
#ifndef JUST_STARTED_WORK_H
#define JUST_STARTED_WORK_H

#include <time.h>

/* Computes, sleeps a little and sorts, `depth` calls deep, for `length_ns` more by the clock. */
unsigned long just_work(int depth, clockid_t clock, unsigned long long length_ns);

#endif
