/* Functions that call each other in known ways, for programs in C and C++. Each call is noted as
 * it happens, so that a program knows its own call tree. */
#ifndef CALL_TREES_H
#define CALL_TREES_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __cplusplus
#define WATCHED extern "C" __attribute__((noinline, noclone, used, visibility("default")))
#else
#define WATCHED __attribute__((noinline, noclone, used, visibility("default")))
#endif

#define MOST_CALLS 20000

struct noted_call {
    const char* name;
    int depth;
};

struct notes {
    struct noted_call calls[MOST_CALLS];
    int count;
    int depth;
};

static __thread struct notes* notes;
static volatile long sink;

static inline int note_begin(const char* name) {
    if (notes->count < MOST_CALLS) {
        notes->calls[notes->count].name = name;
        notes->calls[notes->count].depth = notes->depth;
        notes->count++;
    }
    return notes->depth++;
}

static inline void note_end(const int* depth) { notes->depth = *depth; }

/* Until the end of the block, even if an exception leaves it. */
#define NOTE(name) __attribute__((cleanup(note_end), unused)) int noted_depth = note_begin(name)

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static inline void compute(int rounds) {
    for (int i = 0; i < rounds; i++) sink = sink + i;
}

/* ---- 1,000 calls: 1, 9, 10 each, 10 each */

WATCHED void tree_leaf(int rounds) {
    NOTE("tree_leaf");
    compute(rounds);
}

WATCHED void tree_twig(int rounds) {
    NOTE("tree_twig");
    for (int i = 0; i < 10; i++) tree_leaf(rounds);
    compute(rounds);
}

WATCHED void tree_branch(int rounds) {
    NOTE("tree_branch");
    for (int i = 0; i < 10; i++) tree_twig(rounds);
    compute(rounds);
}

WATCHED void target_tree(void) {
    NOTE("target_tree");
    for (int i = 0; i < 9; i++) tree_branch(100);
    compute(100);
}

/* ---- a sleep, which is blocked time of the function that sleeps */

WATCHED void sleeper(void) {
    NOTE("sleeper");
    usleep(20000);
    compute(1);
}

WATCHED void target_sleep(void) {
    NOTE("target_sleep");
    tree_leaf(10);
    sleeper();
    tree_leaf(10);
}

/* ---- recursion */

WATCHED int recursive(int left) {
    NOTE("recursive");
    compute(10);
    int below = left > 0 ? recursive(left - 1) : 0;
    tree_leaf(1);
    return below + 1;
}

WATCHED void target_recursion(void) {
    NOTE("target_recursion");
    sink = recursive(100);
    tree_leaf(1);
}

/* ---- the target calls itself: one tree */

WATCHED void target_nested(int left) {
    NOTE("target_nested");
    if (left > 0) target_nested(left - 1);
    tree_leaf(1);
}

/* ---- longjmp over two frames; later calls are the target's again */

static jmp_buf place;

WATCHED void jumper(void) {
    NOTE("jumper");
    compute(10);
    if (sink != -1) longjmp(place, 1);
}

WATCHED void over_jumped(void) {
    NOTE("over_jumped");
    tree_leaf(1);
    jumper();
    tree_leaf(2);
}

WATCHED void target_longjmp(void) {
    NOTE("target_longjmp");
    const int depth = notes->depth;
    if (setjmp(place) == 0) over_jumped();
    notes->depth = depth;
    tree_leaf(3);
}

/* ---- a tail call: the callee replaces the caller */

WATCHED int tail_callee(int value) {
    notes->depth--; /* of the caller, which is gone */
    NOTE("tail_callee");
    compute(10);
    return value + 1;
}

WATCHED int tail_caller(int value) {
    (void)note_begin("tail_caller");
    sink = value;
    return tail_callee(value * 3);
}

WATCHED void target_tail(void) {
    NOTE("target_tail");
    const int depth = notes->depth;
    for (int i = 0; i < 3; i++) {
        sink = tail_caller(i);
        notes->depth = depth;
    }
    tree_leaf(1);
}

/* ---- a signal in the middle, handled on a separate stack */

WATCHED void in_handler(void) {
    NOTE("in_handler");
    compute(10);
}

static void on_signal(int number) {
    (void)number;
    in_handler();
}

WATCHED void signalled(void) {
    NOTE("signalled");
    raise(SIGUSR1);
    tree_leaf(1);
}

/* Of the thread. Without it, handlers run on the stack that they interrupt. */
static void have_signal_stack(void* at, size_t bytes) {
#ifdef WITH_SIGNAL_STACK
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_size = bytes;
    stack.ss_sp = at;
    sigaltstack(&stack, NULL);
#else
    (void)at;
    (void)bytes;
#endif
}

static void handle(int number, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, NULL);
}

#define SIGNAL_STACK_BYTES (64 * 1024)

WATCHED void target_signal(void) {
    NOTE("target_signal");
    have_signal_stack(malloc(SIGNAL_STACK_BYTES), SIGNAL_STACK_BYTES);
    handle(SIGUSR1, on_signal, SA_ONSTACK);
    signalled();
    tree_leaf(2);
    if (sink == -1) in_handler(); /* so that it is in the code */
}

/* ---- a handler on a separate stack that never returns, one on the same stack, and one inside
 * another */

static sigjmp_buf before_signal;

WATCHED void leaves_handler(void) {
    NOTE("leaves_handler");
    compute(10);
    if (sink != -1) siglongjmp(before_signal, 1);
}

static void on_signal_that_jumps(int number) {
    (void)number;
    in_handler();
    leaves_handler();
}

WATCHED void interrupted(int number) {
    NOTE("interrupted");
    raise(number);
    tree_leaf(1);
}

static void on_outer_signal(int number) {
    (void)number;
    in_handler();
    interrupted(SIGUSR2);
}

WATCHED void target_handlers(void) {
    NOTE("target_handlers");
    const int depth = notes->depth;
    have_signal_stack(malloc(SIGNAL_STACK_BYTES), SIGNAL_STACK_BYTES);
    handle(SIGUSR1, on_signal_that_jumps, SA_ONSTACK);
    for (volatile int i = 0; i < 3; i = i + 1) {
        if (sigsetjmp(before_signal, 1) == 0) interrupted(SIGUSR1);
        notes->depth = depth;
        tree_leaf(i);
    }
    handle(SIGUSR2, on_signal, 0);
    handle(SIGUSR1, on_outer_signal, SA_ONSTACK);
    interrupted(SIGUSR1);
    handle(SIGUSR1, on_outer_signal, 0);
    interrupted(SIGUSR1);
    tree_leaf(2);
    if (sink == -1) { /* so that they are in the code */
        in_handler();
        leaves_handler();
    }
}

/* ---- a thread whose handlers' stack is above its own, with a page between them */

WATCHED void target_above(void) {
    NOTE("target_above");
    for (int i = 0; i < 3; i++) signalled();
    tree_leaf(2);
    if (sink == -1) in_handler();
}

static struct notes* notes_of_main;

static void* run_above(void* signal_stack) {
    notes = notes_of_main;
    have_signal_stack(signal_stack, SIGNAL_STACK_BYTES);
    target_above();
    return NULL;
}

static void run_thread_below_its_handlers(void) {
    const size_t own = 256 * 1024, page = 4096;
    char* memory = (char*)mmap(NULL, own + page + SIGNAL_STACK_BYTES, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    mprotect(memory + own, page, PROT_NONE);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory, own);
    handle(SIGUSR1, on_signal, SA_ONSTACK);
    notes_of_main = notes;
    pthread_create(&thread, &attributes, run_above, memory + own + page);
    pthread_join(thread, NULL);
    munmap(memory, own + page + SIGNAL_STACK_BYTES);
}

/* ---- frames so large that a program with split stacks keeps getting and freeing new ones */

WATCHED int wide(int left) {
    NOTE("wide");
    volatile char room[8000];
    room[0] = (char)left;
    compute(10);
    const int below = left > 0 ? wide(left - 1) : 0;
    tree_leaf(1);
    return below + room[0];
}

WATCHED void target_wide(void) {
    NOTE("target_wide");
    for (int i = 0; i < 5; i++) sink = wide(8 * i);
    tree_leaf(2);
}

/* ---- a separate stack, below and above which the target continues */

#ifdef WITH_FIBERS
static ucontext_t main_context, fiber_context;

WATCHED void on_fiber(void) {
    NOTE("on_fiber");
    tree_leaf(1);
}

static void fiber(void) {
    on_fiber();
    swapcontext(&fiber_context, &main_context);
    on_fiber();
}

WATCHED void target_fiber(void) {
    NOTE("target_fiber");
    const size_t bytes = 64 * 1024;
    char* stack = (char*)malloc(bytes);
    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = bytes;
    fiber_context.uc_link = &main_context;
    makecontext(&fiber_context, fiber, 0);
    swapcontext(&main_context, &fiber_context);
    tree_leaf(2);
    swapcontext(&main_context, &fiber_context);
    tree_leaf(3);
    free(stack);
    if (sink == -1) on_fiber(); /* so that it is in the code */
}
#else
WATCHED void target_fiber(void) { NOTE("target_fiber"); }
#endif

/* ---- children: their calls are not this thread's */

WATCHED void target_fork(void) {
    NOTE("target_fork");
    const int count = notes->count;
    pid_t child = fork();
    if (child == 0) {
        tree_leaf(1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    child = vfork();
    if (child == 0) {
        tree_leaf(1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    notes->count = count; /* a vforked child wrote into this memory */
    notes->depth = 1;
    tree_leaf(2);
}

/* ---- threads: one calls only its own function */

#define THREAD_FUNCTION(name)       \
    WATCHED void name(int rounds) { \
        NOTE(#name);                \
        compute(rounds);            \
    }
THREAD_FUNCTION(of_thread_0)
THREAD_FUNCTION(of_thread_1)
THREAD_FUNCTION(of_thread_2)
THREAD_FUNCTION(of_thread_3)

static pthread_barrier_t together;

WATCHED void target_threads(int number) {
    NOTE("target_threads");
    for (int i = 0; i < 50; i++) {
        pthread_barrier_wait(&together);
        if (number == 0) of_thread_0(20);
        if (number == 1) of_thread_1(20);
        if (number == 2) of_thread_2(20);
        if (number == 3) of_thread_3(20);
    }
}

static void* run_thread(void* number) {
    notes = (struct notes*)calloc(1, sizeof *notes);
    target_threads((int)(long)number);
    return NULL;
}

static void run_threads(void) {
    pthread_t threads[4];
    pthread_barrier_init(&together, NULL, 4);
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run_thread, (void*)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

/* ---- the thread ends inside the target */

WATCHED void ending(void) {
    NOTE("ending");
    tree_leaf(1);
    if (sink != -1) pthread_exit(NULL);
    tree_leaf(2);
}

WATCHED void target_end(void) {
    NOTE("target_end");
    tree_leaf(1);
    ending();
}

static void* run_end(void* unused) {
    (void)unused;
    notes = (struct notes*)calloc(1, sizeof *notes);
    target_end();
    return NULL;
}

/* ---- more calls than a tree has room for */

WATCHED void target_many(void) {
    NOTE("target_many");
    for (int i = 0; i < 10000; i++) tree_leaf(1);
}

/* ---- a function that is called endlessly */

WATCHED long hot(long value) { return sink ^ value; }

WATCHED void target_hot(void) {
    NOTE("target_hot");
    const long long end_ns = now_ns() + 1500000000LL;
    long sum = 0;
    while (now_ns() < end_ns)
        for (int i = 0; i < 1000; i++) sum += hot(i);
    sink = sum;
    tree_leaf(1);
}

static int run_common(const char* mode) {
    pthread_t thread;
    if (strcmp(mode, "tree") == 0) return target_tree(), 1;
    if (strcmp(mode, "sleep") == 0) return target_sleep(), 1;
    if (strcmp(mode, "recursion") == 0) return target_recursion(), 1;
    if (strcmp(mode, "nested") == 0) return target_nested(3), 1;
    if (strcmp(mode, "longjmp") == 0) return target_longjmp(), 1;
    if (strcmp(mode, "tail") == 0) return target_tail(), 1;
    if (strcmp(mode, "signal") == 0) return target_signal(), 1;
    if (strcmp(mode, "handlers") == 0) return target_handlers(), 1;
    if (strcmp(mode, "above") == 0) return run_thread_below_its_handlers(), 1;
    if (strcmp(mode, "wide") == 0) return target_wide(), 1;
    if (strcmp(mode, "fiber") == 0) return target_fiber(), 1;
    if (strcmp(mode, "fork") == 0) return target_fork(), 1;
    if (strcmp(mode, "threads") == 0) return run_threads(), 1;
    if (strcmp(mode, "many") == 0) return target_many(), 1;
    if (strcmp(mode, "hot") == 0) return target_hot(), 1;
    if (strcmp(mode, "end") != 0) return 0;
    pthread_create(&thread, NULL, run_end, NULL);
    pthread_join(thread, NULL);
    return 1;
}

/* Prints "ready", then for each line with a mode the calls made: [elapsed_ns, ["name", depth],
 * ...]. */
static int serve(int (*run)(const char* mode)) {
    char mode[64];
    notes = (struct notes*)calloc(1, sizeof *notes);
    puts("ready");
    fflush(stdout);
    while (fgets(mode, sizeof mode, stdin)) {
        mode[strcspn(mode, "\n")] = '\0';
        notes->count = notes->depth = 0;
        const long long begin_ns = now_ns();
        if (!run(mode)) return 2;
        printf("[%lld", now_ns() - begin_ns);
        for (int i = 0; i < notes->count; i++)
            printf(", [\"%s\", %d]", notes->calls[i].name, notes->calls[i].depth);
        puts("]");
        fflush(stdout);
    }
    return 0;
}

#endif
