/* What the program does, in a library that nobody else maps. */
#ifndef JUST_STARTED_WORK_H
#define JUST_STARTED_WORK_H

/* Computes, sleeps a little and sorts, `depth` calls deep, until `until_ns` of CLOCK_MONOTONIC. */
unsigned long just_work(int depth, unsigned long long until_ns);

unsigned long long just_now_ns(void);

#endif
