// Runs inside runs, runs that began before their marker, runs whose thread ends before them. nested
// KIND: prints "ready", waits for "go", then prints what it did as a JSON object.
#include <lagtrap.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <thread>

namespace {

void walk(int depth) {
    LAGTRAP_SCOPE("walk");
    if (depth > 1) walk(depth - 1);
}

int nest() {
    for (int round = 0; round < 100; ++round) walk(5);
    return std::printf("{\"outermost\":100,\"each\":500}\n");
}

// An input that waited 80 ms in a queue before its begin marker was reached.
int queue() {
    const unsigned long long queued_ns = 80'000'000;
    LAGTRAP_BEGIN_AT("input", lagtrap_now_ns() - queued_ns);
    LAGTRAP_END("input");
    // a time in the future is not accepted
    LAGTRAP_BEGIN_AT("input", lagtrap_now_ns() + queued_ns);
    LAGTRAP_END("input");
    return std::printf("{\"queued_ns\":%llu}\n", queued_ns);
}

int leave_open() {
    volatile bool end_it = false;
    for (int i = 0; i < 20; ++i) {
        std::thread([&] {
            LAGTRAP_BEGIN("orphan");
            if (end_it) LAGTRAP_END("orphan");
        }).join();
    }
    std::puts("{\"orphans\":20}");
    std::fflush(stdout);
    pause();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    char line[8];
    std::puts("ready");
    std::fflush(stdout);
    if (argc != 2 || !std::fgets(line, sizeof line, stdin)) return 2;
    if (std::strcmp(argv[1], "nest") == 0) return nest() < 0;
    if (std::strcmp(argv[1], "queue") == 0) return queue() < 0;
    return leave_open();
}
