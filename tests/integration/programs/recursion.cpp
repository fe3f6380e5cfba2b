// Functions that are left in every way: by return, by exception, by longjmp, from deep recursion,
// by alternating fibers. Prints "ready", waits for "go", then {"returned":..., "thrown":...,
// "jumped":...}: how the calls of odd::watched ended.
#include <ucontext.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>

namespace {
std::jmp_buf checkpoint;
volatile int sink;

constexpr int fiber_calls = 20;
ucontext_t main_context;
std::array<ucontext_t, 2> fibers;
int current_fiber;

void let_others_go_on() { swapcontext(&fibers.at(current_fiber), &main_context); }
}  // namespace

namespace odd {

__attribute__((noinline)) int watched(int depth, int how) {
    sink = depth;
    if (depth > 0) {
        const int below = watched(depth - 1, how);
        return below + 1;
    }
    if (how == 1) throw 1;
    if (how == 2) std::longjmp(checkpoint, 1);
    if (how == 3) let_others_go_on();
    return 0;
}

}  // namespace odd

namespace {

void run_fiber() {
    for (int i = 0; i < fiber_calls; ++i) odd::watched(0, 3);
    for (;;) let_others_go_on();
}

// Each call is suspended in the middle, while the other fiber ends one and begins the next.
void let_fibers_take_turns() {
    static std::array<std::array<char, 65536>, 2> stacks;
    for (std::size_t i = 0; i < fibers.size(); ++i) {
        getcontext(&fibers[i]);
        fibers[i].uc_stack.ss_sp = stacks[i].data();
        fibers[i].uc_stack.ss_size = stacks[i].size();
        makecontext(&fibers[i], run_fiber, 0);
    }
    for (int turn = 0; turn < 2 * (fiber_calls + 1); ++turn) {
        current_fiber = turn % 2;
        swapcontext(&main_context, &fibers.at(current_fiber));
    }
}

}  // namespace

int main() {
    char line[8];
    std::puts("ready");
    std::fflush(stdout);
    if (!std::fgets(line, sizeof(line), stdin)) return 1;
    constexpr int rounds = 100;
    constexpr int depth = 9;  // ten nested calls
    for (int round = 0; round < rounds; ++round) {
        odd::watched(depth, 0);
        try {
            odd::watched(depth, 1);
        } catch (int) {
        }
        if (setjmp(checkpoint) == 0) odd::watched(depth, 2);
    }
    odd::watched(200, 0);  // deeper than return probes support
    let_fibers_take_turns();
    std::printf("{\"returned\":%d,\"thrown\":%d,\"jumped\":%d,\"deep\":%d,\"fibers\":%d}\n",
                rounds * (depth + 1), rounds * (depth + 1), rounds * (depth + 1), 201,
                2 * fiber_calls);
}
