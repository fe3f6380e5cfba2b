/* Functions that call others in each way there is; compiled by each compiler, with and without
 * optimisation. */
#include <stdlib.h>

#define KEPT __attribute__((noinline, used))

int calls_elsewhere(int value);

static volatile int calls_sink;
static char* volatile calls_text;
struct calls_table {
    int (*first)(int value);
    int (*second)(int value);
};

static KEPT int calls_leaf(int value) {
    calls_sink = calls_sink + value;
    return value + calls_sink;
}

static KEPT int calls_other(int value) {
    calls_sink = calls_sink * value;
    return calls_sink - value;
}

KEPT int calls_direct(int value) {
    int sum = calls_leaf(value);
    for (int i = 0; i < value; i++) sum += calls_leaf(i) - calls_other(sum);
    return sum + 1;
}

/* With optimisation both are jumps, one of them conditional. */
KEPT int calls_tail(int value) {
    if (value > 3) return calls_leaf(value - 1);
    return calls_other(value + 1);
}

KEPT int calls_through_slot(int value) {
    calls_text = malloc((size_t)value + 1);
    int sum = calls_elsewhere(value) + calls_elsewhere(2);
    free(calls_text);
    return sum + calls_sink;
}

KEPT int calls_indirect(const struct calls_table* table, int value) {
    return table->first(value) + table->second(value) + calls_leaf(value);
}

/* In assembler, because compilers hardly ever make such a jump. */
__asm__(
    ".text\n.globl calls_conditional\n.type calls_conditional, @function\ncalls_conditional:\n"
    "test %edi, %edi\njne calls_leaf\nret\n.size calls_conditional, . - calls_conditional\n");

KEPT int calls_nothing(int value) {
    calls_sink = value;
    return calls_sink + 1;
}
