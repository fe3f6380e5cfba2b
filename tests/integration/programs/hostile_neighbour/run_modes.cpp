#include <lagtrap.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "modes.hpp"

namespace hostile {
namespace {

using namespace std::chrono_literals;

std::mutex stock;
std::atomic<bool> waited_for = false;

// The begin and the end of one request, which waits for the stock.
__attribute__((noinline)) void serve_one() {
    LAGTRAP_BEGIN("request");
    const std::lock_guard lock(stock);
    LAGTRAP_END("request");
}

__attribute__((noinline)) void count_the_stock() {
    const std::lock_guard lock(stock);
    std::puts("counting");
    std::fflush(stdout);
    waited_for.wait(false);
    std::this_thread::sleep_for(300ms);
}

// The victim: a request every 20 ms. For each line that it reads, one of 300 ms, while the thread
// "counter" holds the lock; prints how many ns that took.
int serve(std::span<char* const>) {
    std::puts("ready");
    std::fflush(stdout);
    char line[16];
    for (;;) {
        pollfd input{STDIN_FILENO, POLLIN, 0};
        if (::poll(&input, 1, 20) > 0) {
            if (::read(STDIN_FILENO, line, sizeof line) <= 0) return 0;
            std::thread counter([] {
                ::pthread_setname_np(::pthread_self(), "counter");
                count_the_stock();
            });
            while (stock.try_lock()) {
                stock.unlock();
                std::this_thread::sleep_for(1ms);
            }
            waited_for = true;
            waited_for.notify_one();
            const auto begun = std::chrono::steady_clock::now();
            serve_one();
            const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begun;
            counter.join();
            waited_for = false;
            std::printf("%lld\n", static_cast<long long>(took.count()));
            std::fflush(stdout);
        } else {
            serve_one();
        }
    }
}

// Hits the same markers as fast as possible from this many threads.
int hit(std::span<char* const> arguments) {
    std::vector<std::thread> threads;
    const int count = arguments.empty() ? 1 : std::atoi(arguments[0]);
    for (int i = 0; i < count; ++i)
        threads.emplace_back([] {
            for (;;) {
                LAGTRAP_BEGIN("request");
                LAGTRAP_END("request");
            }
        });
    for (auto& thread : threads) thread.join();
    return 0;
}

// Begins this many runs of "keyed" and ends none.
int open_keys(std::span<char* const> arguments) {
    const unsigned long long count =
        arguments.empty() ? 100'000 : std::strtoull(arguments[0], nullptr, 10);
    for (unsigned long long key = 1; key <= count; ++key) LAGTRAP_BEGIN_KEY("keyed", key);
    std::puts("opened");
    std::fflush(stdout);
    ::pause();
    return 0;
}

// The marker that keyed runs would need.
__attribute__((used)) void never_called(unsigned long long key) { LAGTRAP_END_KEY("keyed", key); }

// One delay after the other.
int be_slow(std::span<char* const>) {
    for (;;) {
        LAGTRAP_BEGIN("request");
        std::this_thread::sleep_for(60ms);
        LAGTRAP_END("request");
    }
}

// Threads begin, pass and end runs of "raced" with a few shared keys, while the main thread makes
// its own requests. Prints the number of each.
int race(std::span<char* const> arguments) {
    const int rounds = arguments.empty() ? 100'000 : std::atoi(arguments[0]);
    const unsigned thread_count = 2 * std::thread::hardware_concurrency();
    std::atomic<unsigned> at_work{thread_count};
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < thread_count; ++number)
        threads.emplace_back([&, number] {
            std::minstd_rand random(number + 1);
            for (int round = 0; round < rounds; ++round) {
                const unsigned long long key = random() % 7;
                LAGTRAP_BEGIN_KEY("raced", key);
                LAGTRAP_STAGE_KEY("raced", "half", key);
                LAGTRAP_END_KEY("raced", key);
            }
            --at_work;
        });
    unsigned long requests = 0;
    do {
        LAGTRAP_BEGIN("request");
        LAGTRAP_STAGE("request", "half");
        LAGTRAP_END("request");
        ++requests;
    } while (at_work > 0);
    for (auto& thread : threads) thread.join();
    std::printf("{\"requests\": %lu, \"raced\": %lu}\n", requests,
                static_cast<unsigned long>(rounds) * thread_count);
    std::fflush(stdout);
    (void)std::getchar();
    return 0;
}

constexpr NamedMode modes[] = {
    {"serve", serve}, {"hit", hit}, {"open_keys", open_keys}, {"be_slow", be_slow}, {"race", race}};

}  // namespace

std::span<const NamedMode> run_modes() { return modes; }

}  // namespace hostile
