// Functions that are left in every way: by return, by exception, by longjmp, from deep inside themselves.
// Says "ready", waits for "go", then {"calls":..., "thrown":..., "jumped":...}: how the calls of odd::watched ended.
#include <csetjmp>
#include <cstdio>
#include <cstring>

namespace {
std::jmp_buf checkpoint;
volatile int sink;
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
    return 0;
}

}  // namespace odd

int main() {
    char line[8];
    std::puts("ready");
    std::fflush(stdout);
    if (!std::fgets(line, sizeof(line), stdin)) return 1;
    constexpr int rounds = 100;
    constexpr int depth = 9;  // ten calls inside one another
    for (int round = 0; round < rounds; ++round) {
        odd::watched(depth, 0);
        try {
            odd::watched(depth, 1);
        } catch (int) {
        }
        if (setjmp(checkpoint) == 0) odd::watched(depth, 2);
    }
    odd::watched(200, 0);  // deeper than return probes reach
    std::printf("{\"returned\":%d,\"thrown\":%d,\"jumped\":%d,\"deep\":%d}\n", rounds * (depth + 1),
                rounds * (depth + 1), rounds * (depth + 1), 201);
}
