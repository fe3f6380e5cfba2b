/* Functions whose frames compilers describe in different ways. */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

int observe(const void* place, int count);

int plain(int a, int b) { return a * b + 1; }

int with_saved_registers(int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) sum += observe(&sum, i) ^ rand();
    return sum;
}

int with_variable_frame(int count) {
    char* room = alloca((size_t)count);
    memset(room, count, (size_t)count);
    return observe(room, count);
}

/* The frame is aligned anew: its address is saved in memory (gcc's "dynamic realign argument
 * pointer"). */
int with_aligned_variable_frame(int count, int a, int b, int c, int d, int e, int f, int on_stack) {
    struct {
        char bytes[64];
    } __attribute__((aligned(64))) aligned;
    char* room = alloca((size_t)count);
    memset(&aligned, a + b + c + d + e + f, sizeof aligned);
    memset(room, on_stack, (size_t)count);
    return observe(&aligned, count) + observe(room, on_stack);
}

int with_early_return(int count) {
    if (count < 3) return count;
    char room[300];
    memset(room, count, sizeof room);
    if (observe(room, count) == 7) abort();
    return observe(room, 1) + with_saved_registers(count);
}
