/* Many processes: "processes sleep N" starts N that sleep; "processes storm N" keeps up to N at
 * once, which end immediately after starting others. Prints how many could be started (sleep) or
 * "ready" (storm), and ends them all when its input ends. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int input_ended(int wait_ms) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, wait_ms) != 0;
}

static void sleepers(long count) {
    long started = 0;
    for (; started < count; started++) {
        const pid_t child = fork();
        if (child < 0) break;
        if (child != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
    printf("%ld\n", started);
    fflush(stdout);
    input_ended(-1);
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM); /* the group that the test created */
}

/* Each child starts two more, and so on; where no more are allowed, a branch ends. */
static void grow(int depth) {
    for (int i = 0; i < 2 && depth > 0; i++) {
        if (fork() != 0) continue;
        grow(depth - 1);
        _exit(0);
    }
    while (wait(NULL) > 0) {
    }
}

static void storm(long count) {
    int depth = 0;
    while (1L << depth < count) depth++;
    puts("ready");
    fflush(stdout);
    while (!input_ended(0)) grow(depth);
}

int main(int argc, char** words) {
    const long count = argc > 2 ? strtol(words[2], NULL, 10) : 0;
    if (argc > 2 && strcmp(words[1], "sleep") == 0) sleepers(count);
    if (argc > 2 && strcmp(words[1], "storm") == 0) storm(count);
    return 0;
}
