// Delays in handle_request() whose cause is elsewhere: `causes KIND MILLISECONDS` prints "ready",
// waits for a line, makes 20 fast calls, a slow one and 20 fast ones, and prints a line of JSON
// with its thread ids.
//
//     chain   waits for a lock whose holder waits for a second, whose holder waits for a third,
//     whose holder computes nap     sleeps signal  waits on a condition variable until another
//     thread, which computes, signals it pipe    waits for a child process that computes and then
//     writes into a pipe compute computes
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static unsigned long slow_ns;
static int tid_of[4];
static pthread_mutex_t locks[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all_hold;
static int finished;
static volatile unsigned long sink;

static unsigned long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long)now.tv_sec * 1000000000UL + (unsigned long)now.tv_nsec;
}

APART void compute_for(unsigned long ns) {
    const unsigned long end = now_ns() + ns;
    while (now_ns() < end)
        for (int i = 0; i < 2000; ++i) sink = sink * 6364136223846793005UL + 1;
}

APART void third_holds_c(void) {
    compute_for(slow_ns);
    sink = sink + 1;
}

APART void second_wants_c(void) {
    pthread_mutex_lock(&locks[3]);
    pthread_mutex_unlock(&locks[3]);
    sink = sink + 1;
}

APART void first_wants_b(void) {
    pthread_mutex_lock(&locks[2]);
    pthread_mutex_unlock(&locks[2]);
    sink = sink + 1;
}

APART void handle_chain(void) {
    pthread_mutex_lock(&locks[1]);
    pthread_mutex_unlock(&locks[1]);
    sink = sink + 1;
}

// Each holds the lock with its number, and waits for the next one.
static void* hold(void* opaque) {
    static const char* const names[] = {"", "holder-a", "holder-b", "holder-c"};
    const long number = (long)opaque;
    pthread_setname_np(pthread_self(), names[number]);
    tid_of[number] = gettid();
    pthread_mutex_lock(&locks[number]);
    pthread_barrier_wait(&all_hold);
    if (number == 1) first_wants_b();
    if (number == 2) second_wants_c();
    if (number == 3) third_holds_c();
    pthread_mutex_unlock(&locks[number]);
    return NULL;
}

APART void slow_chain(void) {
    pthread_t holders[4];
    pthread_barrier_init(&all_hold, NULL, 4);
    for (long i = 1; i <= 3; ++i) pthread_create(&holders[i], NULL, hold, (void*)i);
    pthread_barrier_wait(&all_hold);
    handle_chain();
    for (int i = 1; i <= 3; ++i) pthread_join(holders[i], NULL);
}

APART void produce(void) {
    compute_for(slow_ns);
    sink = sink + 1;
}

static void* run_producer(void* unused) {
    pthread_setname_np(pthread_self(), "producer");
    tid_of[1] = gettid();
    produce();
    pthread_mutex_lock(&locks[0]);
    finished = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&locks[0]);
    return unused;
}

APART void await_producer(void) {
    pthread_mutex_lock(&locks[0]);
    while (!finished) pthread_cond_wait(&changed, &locks[0]);
    pthread_mutex_unlock(&locks[0]);
    sink = sink + 1;
}

APART void slow_signal(void) {
    pthread_t producer;
    pthread_create(&producer, NULL, run_producer, NULL);
    await_producer();
    pthread_join(producer, NULL);
}

APART void answer_over_pipe(void) {
    compute_for(slow_ns);
    sink = sink + 1;
}

APART void ask_child(int to_child, int from_child) {
    char byte = 'x';
    if (write(to_child, &byte, 1) != 1 || read(from_child, &byte, 1) != 1) abort();
    sink = sink + 1;
}

APART void take_a_nap(void) {
    const struct timespec length = {(time_t)(slow_ns / 1000000000UL),
                                    (long)(slow_ns % 1000000000UL)};
    nanosleep(&length, NULL);
    sink = sink + 1;
}

static int to_child[2], from_child[2];
static pid_t child;

static void start_child(void) {
    if (pipe(to_child) != 0 || pipe(from_child) != 0) abort();
    child = fork();
    if (child != 0) return;
    char byte;
    if (read(to_child[0], &byte, 1) == 1) {
        answer_over_pipe();
        if (write(from_child[1], &byte, 1) != 1) abort();
    }
    _exit(0);
}

APART void handle_request(const char* kind) {
    if (kind == NULL) return compute_for(10000);
    if (strcmp(kind, "chain") == 0) slow_chain();
    if (strcmp(kind, "nap") == 0) take_a_nap();
    if (strcmp(kind, "signal") == 0) slow_signal();
    if (strcmp(kind, "pipe") == 0) ask_child(to_child[1], from_child[0]);
    if (strcmp(kind, "compute") == 0) compute_for(slow_ns);
    sink = sink + 1;
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    slow_ns = strtoul(argv[2], NULL, 10) * 1000000UL;
    if (strcmp(argv[1], "pipe") == 0) start_child();
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF) return 1;
    for (int i = 0; i < 20; ++i) handle_request(NULL);
    handle_request(argv[1]);
    for (int i = 0; i < 20; ++i) handle_request(NULL);
    printf("{\"pid\": %d, \"child\": %d, \"tids\": [%d, %d, %d]}\n", getpid(), child, tid_of[1],
           tid_of[2], tid_of[3]);
    if (child != 0) waitpid(child, NULL, 0);
    return 0;
}
