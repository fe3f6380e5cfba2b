/* A short-lived server in a container: starts, answers three requests of 2 ms, ends. With an
 * argument, it waits for a line before it answers; otherwise it waits 0.4 s. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) int handle_request(int number) {
    usleep(2000);
    return number;
}

static int wait_for_line(void) {
    char line[8];
    puts("ready");
    fflush(stdout);
    return fgets(line, sizeof(line), stdin) != NULL;
}

int main(int count, char** arguments) {
    (void)arguments;
    if (count == 1)
        usleep(400000);
    else if (!wait_for_line())
        return 1;
    for (int i = 0; i < 3; ++i) handle_request(i);
    return 0;
}
