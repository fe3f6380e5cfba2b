/* Two requests with contexts: one holds a lock for some time inside its span, while the other one
 * waits for it. Others publish what is no context.
 *
 *     requests MILLISECONDS [LIBRARY] [--garbage]
 *
 * LIBRARY has the publisher, and is loaded while it runs; otherwise the program has it itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "publisher.h"

static __typeof__(publish_keys)* publish;
static __typeof__(attach_context)* attach;
static __typeof__(attach_anything)* attach_garbage;
static __typeof__(detach_context)* detach;

static const char* const keys[] = {"http.route", "secret", "tenant"};
enum { ROUTE, SECRET, TENANT };
static const unsigned char report_trace[16] = {0xaa, 1, 2, 3}, report_span[8] = {0xa1, 1};
static const unsigned char order_trace[16] = {0xbb, 1, 2, 3}, order_span[8] = {0xb1, 1};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t locked;
static long milliseconds;

static void pause_for(long length_ms) {
    const struct timespec length = {length_ms / 1000, length_ms % 1000 * 1000000};
    nanosleep(&length, NULL);
}

__attribute__((noinline)) static void make_report(void) {
    pthread_mutex_lock(&mutex);
    sem_post(&locked);
    pause_for(milliseconds);
    pthread_mutex_unlock(&mutex);
}

static void* serve_report(void* unused) {
    (void)unused;
    pthread_setname_np(pthread_self(), "report");
    const struct attribute attributes[] = {
        {ROUTE, "POST /report"}, {SECRET, "hidden-value"}, {TENANT, "B"}, {200, "no such key"}};
    attach(report_trace, report_span, attributes, 4);
    make_report();
    detach();
    return NULL;
}

__attribute__((noinline)) void serve_order(void) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    __asm__ __volatile__("" : : : "memory");
}

static void* publish_garbage(void* unused) {
    (void)unused;
    pthread_setname_np(pthread_self(), "garbage");
    char* const page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    char* const at_the_end = page + 4096 - 28; /* attributes of 64 KiB, none of which is there */
    memset(at_the_end, 0xff, 28);
    at_the_end[24] = 1;
    for (unsigned long turn = 0;; turn++) {
        void* const places[] = {at_the_end, (void*)8, (void*)(~0UL - turn), page + 4095};
        attach_garbage(places[turn % 4]);
        pause_for(1);
    }
    return NULL;
}

static void find_publisher(const char* library) {
    void* const handle = dlopen(library, RTLD_NOW);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    publish = (__typeof__(publish))dlsym(handle, "publish_keys");
    attach = (__typeof__(attach))dlsym(handle, "attach_context");
    attach_garbage = (__typeof__(attach_garbage))dlsym(handle, "attach_anything");
    detach = (__typeof__(detach))dlsym(handle, "detach_context");
}

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    milliseconds = strtol(argv[1], NULL, 10);
    const int garbage = strcmp(argv[argc - 1], "--garbage") == 0;
    find_publisher(argc - garbage > 2 ? argv[2] : NULL);
    sem_init(&locked, 0, 0);
    pthread_t threads[2];
    if (publish(keys, 3) != 0) return 1;
    if (garbage) pthread_create(&threads[1], NULL, publish_garbage, NULL);
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF) return 1;
    pthread_create(&threads[0], NULL, serve_report, NULL);
    sem_wait(&locked);
    const struct attribute route = {ROUTE, "GET /order"};
    attach(order_trace, order_span, &route, 1);
    serve_order();
    detach();
    pthread_join(threads[0], NULL);
    pause();
    return 0;
}
