/* Many threads or short-lived processes with names that are hard to show.
 * crowd threads N: starts N threads, prints "ready", ends when stdin closes.
 * crowd exits N: prints "ready"; after "go", starts and ends N processes one after the other, each
 * with mapped code and its own name, and prints {"exits":N}. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* const names[] = {
    "bell\a\x1b[31mred", "tab\tnew\nline", "\xff\xfe not utf8", "<script>&\"'", "", "(a) b) S 1 2"};
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

static void* sleep_on(void* unused) {
    (void)unused;
    pause();
    return NULL;
}

static int start_threads(int count) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        int failed = pthread_create(&thread, &small, sleep_on, NULL);
        if (failed) {
            fprintf(stderr, "crowd: thread %d: %s\n", i, strerror(failed));
            return 1;
        }
        pthread_setname_np(thread, names[(size_t)i % NAME_COUNT]);
    }
    return 0;
}

static int start_and_end_processes(int count) {
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0) {
            perror("crowd: fork");
            return 1;
        }
        if (child == 0) {
            prctl(PR_SET_NAME, names[(size_t)i % NAME_COUNT]);
            if (i % 2) _exit(0);
            execl("/bin/true", names[(size_t)i % NAME_COUNT], (char*)NULL);
            _exit(127);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}

int main(int argc, char** argv) {
    char line[8];
    int count = argc == 3 ? atoi(argv[2]) : 0;
    if (count <= 0) {
        fprintf(stderr, "usage: crowd threads|exits N\n");
        return 2;
    }
    int threads = strcmp(argv[1], "threads") == 0;
    if (threads && start_threads(count)) return 1;
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        if (strcmp(line, "go\n") == 0 && !threads) break;
    }
    if (!threads && start_and_end_processes(count)) return 1;
    printf("{\"%s\":%d}\n", argv[1], count);
    return 0;
}
