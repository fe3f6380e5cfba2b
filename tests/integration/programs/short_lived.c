/* A short-lived server in a container: starts, answers three requests of 2 ms, ends. */
#include <unistd.h>

__attribute__((noinline)) int handle_request(int number) {
    usleep(2000);
    return number;
}

int main(void) {
    usleep(400000);
    for (int i = 0; i < 3; ++i) handle_request(i);
    return 0;
}
