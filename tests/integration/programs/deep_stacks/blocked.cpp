// Deep stacks of threads that are off CPU.
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "deep_stacks.hpp"

using deep::Planted;

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
pthread_mutex_t never_mutex = PTHREAD_MUTEX_INITIALIZER;
int busy_pipe[2];
int silent_pipe[2];

void nap(long ns) {
    const timespec length{0, ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr);
}

}  // namespace

DEEP_FUNCTION void deep_wait(Planted& planted) {
    note_base(planted);
    pthread_mutex_lock(&mutex);
    for (;;) pthread_cond_wait(&condition, &mutex);
}

DEEP_FUNCTION void deep_wait_long(Planted& planted) {
    note_base(planted);
    pthread_mutex_lock(&never_mutex);
    for (;;) pthread_cond_wait(&never, &never_mutex);
}

DEEP_FUNCTION void deep_wake(Planted& planted) {
    note_base(planted);
    for (;;) {
        nap(2'000'000);
        pthread_cond_broadcast(&condition);
    }
}

DEEP_FUNCTION void deep_nap(Planted& planted) {
    note_base(planted);
    for (;;) nap(1'000'000);
}

DEEP_FUNCTION void deep_read(Planted& planted) {
    note_base(planted);
    char letter = 0;
    for (;;)
        if (read(busy_pipe[0], &letter, 1) != 1) return;
}

DEEP_FUNCTION void deep_read_long(Planted& planted) {
    note_base(planted);
    char letter = 0;
    for (;;)
        if (read(silent_pipe[0], &letter, 1) != 1) return;
}

DEEP_FUNCTION void deep_write(Planted& planted) {
    note_base(planted);
    for (;;) {
        nap(2'000'000);
        if (write(busy_pipe[1], "a", 1) != 1) return;
    }
}

namespace deep {

std::vector<Planted*> blocked_scenarios() {
    static Planted all[] = {
        {"cond_wait", "deep_wait( lib| plt)*", "deep_climb", deep_climb, 30, deep_wait},
        {"cond_wait_long", "deep_wait_long( lib| plt)*", "deep_climb_saved deep_many",
         deep_climb_saved, 30, deep_wait_long},
        {"cond_signal", "deep_wake( lib| plt)*", "deep_climb", deep_climb, 30, deep_wake},
        {"nanosleep", "deep_nap( lib| plt)*", "deep_climb_aligned", deep_climb_aligned, 30,
         deep_nap},
        {"read_pipe", "deep_read( lib| plt)*", "deep_climb_alloca", deep_climb_alloca, 30,
         deep_read},
        {"read_pipe_long", "deep_read_long( lib| plt)*", "deep_climb", deep_climb, 100,
         deep_read_long},
        {"write_pipe", "deep_write( lib| plt)*", "deep_climb", deep_climb, 30, deep_write},
    };
    std::vector<Planted*> list;
    if (pipe(busy_pipe) != 0 || pipe(silent_pipe) != 0) return list;
    for (Planted& planted : all) list.push_back(&planted);
    return list;
}

}  // namespace deep
