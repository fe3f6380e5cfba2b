/* Runs of event "start", one for each word of the command line, after a line on standard input:
 *   cold, warm   a run whose marker gives the kind of start
 *   work         a run with the stage "work"
 *   skip         a run without it
 *   leave        a run that a thread begins before it ends
 * With "--wait" as the first word, prints "ready", and waits for a line before it begins and for
 * another before it ends. */
#include <lagtrap.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void* leave(void* unused) {
    (void)unused;
    LAGTRAP_BEGIN("start");
    return NULL;
}

static void run(const char* word) {
    if (strcmp(word, "leave") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, leave, NULL) == 0) pthread_join(thread, NULL);
        return;
    }
    LAGTRAP_BEGIN("start");
    if (strcmp(word, "cold") == 0) LAGTRAP_STAGE("start", "cold");
    if (strcmp(word, "warm") == 0) LAGTRAP_STAGE("start", "warm");
    if (strcmp(word, "skip") != 0) LAGTRAP_STAGE("start", "work");
    LAGTRAP_END("start");
}

int main(int count, char** words) {
    char line[16];
    int first = count > 1 && strcmp(words[1], "--wait") == 0 ? 2 : 1;
    if (first == 2) {
        puts("ready");
        fflush(stdout);
        if (!fgets(line, sizeof(line), stdin)) return 1;
    }
    for (int i = first; i < count; i++) run(words[i]);
    if (first == 2 && !fgets(line, sizeof(line), stdin)) return 1;
    puts("{}");
    return 0;
}
