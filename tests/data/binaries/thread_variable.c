/* A thread-local variable, accessed in whatever way the options of the compiler say. */
#include <stdio.h>

_Thread_local _Alignas(64) char others[100] = {1};
_Thread_local void* wanted_variable;

void* wanted_place(void) { return &wanted_variable; }

/* As a program, prints the variable's offset from the thread pointer. */
int main(void) {
    char* thread;
    __asm__("mov %%fs:0, %0" : "=r"(thread));
    printf("%ld %d\n", (long)((char*)wanted_place() - thread), others[0]);
    return 0;
}
