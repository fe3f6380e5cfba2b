/* Runs whose begins and ends do not match, in each way that occurs in programs.
 * unpaired KIND: prints "ready", waits for a line, makes five requests of 150 ms of this KIND,
 * prints {"requests":5}, and idles until the next line. KIND leak leaves 20,000 keyed runs open
 * and then makes 1,000 keyed runs of another event. */
#include <lagtrap.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void work(void) {
    const struct timespec pause = {.tv_nsec = 150 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

/* The first request exits early. */
static __attribute__((noinline)) void leave_early(int number) {
    LAGTRAP_BEGIN("request");
    work();
    if (number == 0) return;
    LAGTRAP_END("request");
}

static __attribute__((noinline)) void begin_twice(int number) {
    LAGTRAP_BEGIN("request");
    if (number >= 0) LAGTRAP_BEGIN("request");
    work();
    LAGTRAP_END("request");
}

static __attribute__((noinline)) int parse(int number) {
    volatile char text[256];
    text[0] = (char)number;
    LAGTRAP_BEGIN("request");
    return text[0];
}

/* Its callee begins and does not end. */
static __attribute__((noinline)) void lose_inner_end(int number) {
    LAGTRAP_BEGIN("request");
    if (parse(number) == number) work();
    LAGTRAP_END("request");
}

/* The last one ends twice. */
static __attribute__((noinline)) void end_twice(int number) {
    leave_early(number);
    if (number == 4) LAGTRAP_END("request");
}

/* Properly nested, in one frame: the compiler inlines inner functions there. */
static __attribute__((noinline)) void nest_in_frame(int number) {
    LAGTRAP_BEGIN("request");
    if (number >= 0) LAGTRAP_BEGIN("request");
    work();
    LAGTRAP_END("request");
    if (number >= 0) LAGTRAP_END("request");
}

static void leak(void) {
    for (unsigned long long key = 1; key <= 20000; ++key) LAGTRAP_BEGIN_KEY("leaky", key);
    for (unsigned long long key = 1; key <= 1000; ++key) {
        LAGTRAP_BEGIN_KEY("good", key);
        LAGTRAP_END_KEY("good", key);
    }
}

/* The marker that "leaky" would need. */
void never_called(unsigned long long key) { LAGTRAP_END_KEY("leaky", key); }

static pthread_barrier_t both;

/* Two threads end each run at once. */
static void* end_runs(void* unused) {
    (void)unused;
    for (unsigned long long key = 1; key <= 20000; ++key) {
        pthread_barrier_wait(&both);
        LAGTRAP_END_KEY("raced", key);
        pthread_barrier_wait(&both);
    }
    return NULL;
}

static void race(void) {
    pthread_t other;
    pthread_barrier_init(&both, NULL, 2);
    if (pthread_create(&other, NULL, end_runs, NULL) != 0) return;
    for (unsigned long long key = 1; key <= 20000; ++key) {
        LAGTRAP_BEGIN_KEY("raced", key);
        pthread_barrier_wait(&both);
        LAGTRAP_END_KEY("raced", key);
        pthread_barrier_wait(&both);
    }
    pthread_join(other, NULL);
}

static const struct {
    const char* name;
    void (*request)(int number);
} kinds[] = {
    {"leave-early", leave_early},       {"begin-twice", begin_twice},
    {"lose-inner-end", lose_inner_end}, {"end-twice", end_twice},
    {"nest-in-frame", nest_in_frame},
};

int main(int argc, char** argv) {
    char line[16];
    puts("ready");
    fflush(stdout);
    if (argc != 2 || !fgets(line, sizeof line, stdin)) return 2;
    if (strcmp(argv[1], "leak") == 0) leak();
    if (strcmp(argv[1], "race") == 0) race();
    for (unsigned kind = 0; kind < sizeof kinds / sizeof kinds[0]; ++kind)
        if (strcmp(argv[1], kinds[kind].name) == 0)
            for (int number = 0; number < 5; ++number) kinds[kind].request(number);
    puts("{\"requests\":5}");
    fflush(stdout);
    return fgets(line, sizeof line, stdin) ? 0 : 1;
}
