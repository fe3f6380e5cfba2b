/* A program that fails during a run of event "step", in one of the ways programs do. It prints
 * "ready", waits for a line, and then acts by its first word:
 *   crash     writes to address 0 in a run
 *   wait      waits in a run forever
 *   exec      replaces itself in a run by "watched stay", which makes three runs and waits for a
 * line fork      forks in a run; the child ends it too, the parent waits for the child threads
 * starts and joins 200 threads that each leave a run open serve     makes as many runs as each line
 * says, until the input ends busy      makes runs until another line comes nest      begins a run,
 * at the next line one inside it, and ends them at two more lines "watched again" makes three runs
 * at once, "watched end" ends a run that it did not begin. Its output and exit status depend on
 * nothing else. */
#include <lagtrap.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long sum;

/* Called, so that a debugger can stop here. */
__attribute__((noinline)) static void work(unsigned long value) { sum = sum * 31 + value; }

__attribute__((noinline)) static void run(unsigned long value) {
    LAGTRAP_BEGIN("step");
    work(value);
    LAGTRAP_END("step");
}

static void say(const char* text) {
    puts(text);
    fflush(stdout);
}

static void crash(void) {
    LAGTRAP_BEGIN("step");
    say("in a run");
    *(volatile int*)0 = 1;
    LAGTRAP_END("step");
}

static void wait_for_ever(void) {
    LAGTRAP_BEGIN("step");
    say("in a run");
    for (;;) pause();
}

static int exec_again(char* self) {
    char* words[] = {self, "stay", NULL};
    LAGTRAP_BEGIN("step");
    say("in a run");
    execv("/proc/self/exe", words);
    return 1;
}

static int fork_in_run(void) {
    int status = 0;
    LAGTRAP_BEGIN("step");
    pid_t child = fork();
    if (child == 0) {
        work(1);
        LAGTRAP_END("step");
        _exit(3);
    }
    waitpid(child, &status, 0);
    LAGTRAP_END("step");
    printf("the child ended with %d\n", WEXITSTATUS(status));
    return 0;
}

static void* leave_open(void* unused) {
    (void)unused;
    LAGTRAP_BEGIN("step");
    return NULL;
}

static void start_threads(void) {
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, leave_open, NULL) == 0) pthread_join(thread, NULL);
    }
}

static void serve(void) {
    char line[32];
    while (fgets(line, sizeof(line), stdin)) {
        const long count = strtol(line, NULL, 10);
        for (long i = 0; i < count; i++) run((unsigned long)i);
        printf("%lu\n", sum);
        fflush(stdout);
    }
}

static void be_busy(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    unsigned long expected = 0;
    for (unsigned long value = 0; value % 1000 != 0 || poll(&input, 1, 0) == 0; value++) {
        run(value);
        expected = expected * 31 + value;
    }
    say(sum == expected ? "right" : "wrong");
}

__attribute__((noinline)) static int nest(int depth) {
    char line[32];
    LAGTRAP_BEGIN("step");
    say("in a run");
    if (!fgets(line, sizeof(line), stdin) || (depth > 0 && nest(depth - 1) != 0)) return 1;
    if (depth > 0 && !fgets(line, sizeof(line), stdin)) return 1;
    LAGTRAP_END("step");
    say("ended");
    return 0;
}

int main(int count, char** words) {
    char line[32];
    const char* what = count > 1 ? words[1] : "";
    if (strcmp(what, "again") == 0 || strcmp(what, "stay") == 0) {
        for (int i = 0; i < 3; i++) run(7);
        printf("again %lu\n", sum);
        fflush(stdout);
        if (what[0] == 's' && !fgets(line, sizeof(line), stdin)) return 1;
        return 7;
    }
    if (strcmp(what, "end") == 0) {
        LAGTRAP_END("step");
        return 0;
    }
    say("ready");
    if (!fgets(line, sizeof(line), stdin)) return 1;
    if (strcmp(what, "crash") == 0) crash();
    if (strcmp(what, "wait") == 0) wait_for_ever();
    if (strcmp(what, "exec") == 0) return exec_again(words[0]);
    if (strcmp(what, "fork") == 0) return fork_in_run();
    if (strcmp(what, "threads") == 0) start_threads();
    if (strcmp(what, "busy") == 0) {
        be_busy();
        return 0;
    }
    if (strcmp(what, "nest") == 0) return nest(1);
    if (strcmp(what, "serve") == 0) serve();
    printf("%lu\n", sum);
    return 0;
}
