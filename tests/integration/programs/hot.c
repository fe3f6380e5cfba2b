/* Two threads that call hot_function() as fast as possible, and one that calls calm_function()
 * every 20 ms. Prints "ready", waits for a line and begins; answers each further line with JSON:
 * the number of calls so far. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct count {
    _Alignas(64) atomic_uint_fast64_t calls;
};
static struct count hot_counts[2], calm_count;

/* A one-byte nop is where a probe costs least. */
__attribute__((noinline, patchable_function_entry(1))) void hot_function(struct count* count) {
    uint_fast64_t calls = atomic_load_explicit(&count->calls, memory_order_relaxed);
    atomic_store_explicit(&count->calls, calls + 1, memory_order_relaxed);
}

__attribute__((noinline, patchable_function_entry(1))) void calm_function(void) {
    atomic_fetch_add_explicit(&calm_count.calls, 1, memory_order_relaxed);
}

static void* be_hot(void* count) {
    for (;;) hot_function(count);
    return NULL;
}

static void* be_calm(void* unused) {
    (void)unused;
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    for (;;) {
        calm_function();
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int main(void) {
    char line[16];
    pthread_t threads[3];
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;
    if (pthread_create(&threads[0], NULL, be_hot, &hot_counts[0]) != 0) return 1;
    if (pthread_create(&threads[1], NULL, be_hot, &hot_counts[1]) != 0) return 1;
    if (pthread_create(&threads[2], NULL, be_calm, NULL) != 0) return 1;
    while (fgets(line, sizeof line, stdin)) {
        printf("{\"hot\":%" PRIuFAST64 ",\"calm\":%" PRIuFAST64 "}\n",
               atomic_load(&hot_counts[0].calls) + atomic_load(&hot_counts[1].calls),
               atomic_load(&calm_count.calls));
        fflush(stdout);
    }
    _Exit(0);
}
