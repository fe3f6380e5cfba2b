// Requests that hold a lock against each other, beside 20 that have nothing to do with it: a
// checkout waits for a report, then a report for a checkout.
//
//     held_requests TRACE_OF_CHECKOUT TRACE_OF_REPORT --wait
#include <time.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

namespace {

constexpr int innocents = 20;
constexpr long hold_ms = 200;

std::mutex ledger;
std::atomic<bool> done = false;
std::atomic<int> pinged = 0;
volatile unsigned long sink = 0;

void compute_ms(long milliseconds) {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const long end_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec + milliseconds * 1'000'000;
    while (now.tv_sec * 1'000'000'000 + now.tv_nsec < end_ns) {
        for (int i = 0; i < 10'000; ++i) sink = sink + 1;
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    }
}

// Which part a request has: it holds the lock, or waits for it.
struct Part {
    std::binary_semaphore* held;  // released once the lock is held; nullptr if it waits
};

}  // namespace

extern "C" {

__attribute__((noinline)) void write_report() { compute_ms(hold_ms); }
__attribute__((noinline)) void charge_card() { compute_ms(hold_ms); }

__attribute__((noinline)) void serve_report(const Part* part, const char* trace) {
    __asm__ __volatile__("" : : "r"(trace) : "memory");
    const std::lock_guard lock(ledger);
    if (part->held == nullptr) return;
    part->held->release();
    write_report();
}

__attribute__((noinline)) void serve_checkout(const Part* part, const char* trace) {
    __asm__ __volatile__("" : : "r"(trace) : "memory");
    const std::lock_guard lock(ledger);
    if (part->held == nullptr) return;
    part->held->release();
    charge_card();
}

__attribute__((noinline)) void serve_ping() {
    pinged.fetch_add(1);
    while (!done) {
        const timespec pause{0, 5'000'000};
        ::nanosleep(&pause, nullptr);
    }
}
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    std::puts("ready");
    std::fflush(stdout);
    if (std::getchar() == EOF) return 1;
    std::vector<std::thread> pings;
    for (int i = 0; i < innocents; ++i) pings.emplace_back(serve_ping);
    while (pinged < innocents) std::this_thread::yield();
    const Part waits{nullptr};
    std::binary_semaphore report_holds(0), checkout_holds(0);
    const Part report{&report_holds}, checkout{&checkout_holds};
    std::thread reports([&] {
        serve_report(&report, argv[2]);
        checkout_holds.acquire();
        serve_report(&waits, argv[2]);
    });
    std::thread checkouts([&] {
        report_holds.acquire();
        serve_checkout(&waits, argv[1]);
        serve_checkout(&checkout, argv[1]);
    });
    reports.join();
    checkouts.join();
    done = true;
    for (std::thread& ping : pings) ping.join();
    std::puts("{}");
    std::fflush(stdout);
    while (std::getchar() != EOF) continue;
    return 0;
}
