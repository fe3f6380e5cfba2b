// Waits for "go". Of 100 calls of handle_request (3 ms each), an exception leaves every fifth,
// after which its caller sleeps for 60 ms: alternately the direct caller and one further out. None
// is slow. Then prints the number of calls, and sleeps.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace {
volatile int sink;
constexpr int calls = 100;
}  // namespace

__attribute__((noinline)) void handle_request(int number) {
    ::usleep(3000);
    if (number % 5 == 4) throw std::runtime_error("bad request");
    sink = number;
}

__attribute__((noinline)) void read_request(int number) {
    volatile char buffer[4096];
    buffer[number] = 1;
    handle_request(number);
    sink = buffer[number];
}

// One catcher sleeps at the stack position of the call, the other above it.
__attribute__((noinline)) void serve(int number) {
    if (number % 10 == 4) return handle_request(number);
    read_request(number);
}

__attribute__((noinline)) int serve_all() {
    int thrown = 0;
    for (int number = 0; number < calls; ++number) try {
            serve(number);
        } catch (const std::exception&) {
            ++thrown;
            ::usleep(60'000);
        }
    return thrown;
}

int main(int argc, char** argv) {
    char line[8];
    std::puts("ready");
    std::fflush(stdout);
    if (!std::fgets(line, sizeof(line), stdin)) return 1;
    int thrown = 0;
    // A thread's stack is a different kind of mapping than the main thread's.
    if (argc > 1 && std::strcmp(argv[1], "thread") == 0)
        std::thread([&] { thrown = serve_all(); }).join();
    else
        thrown = serve_all();
    std::printf("{\"returned\":%d,\"thrown\":%d}\n", calls - thrown, thrown);
    std::fflush(stdout);
    (void)std::fgets(line, sizeof(line), stdin);
}
