// Shared by the programs of the cases: how they start, and work that takes a known CPU time.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "examples/program_input.hpp"

// A function that is neither inlined nor cloned.
#ifdef __clang__
#define PLANTED __attribute__((noinline))
#else
#define PLANTED __attribute__((noipa))
#endif

namespace cases {

inline constexpr int fast_runs = 20;

[[noreturn]] inline void give_up(const char* doing) {
    std::perror(doing);
    std::exit(1);
}

inline void name_thread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

// Binds the calling thread, and the threads that it starts, to this CPU.
inline void stay_on_last_cpu() {
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(::sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
    if (::sched_setaffinity(0, sizeof last, &last) != 0) give_up("sched_setaffinity");
}

inline std::uint64_t cpu_time_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// Computes until the calling thread has used this much CPU time; on a busy machine, that takes
// longer.
__attribute__((always_inline)) inline void compute_ms(std::uint64_t milliseconds) {
    const std::uint64_t end_ns = cpu_time_ns() + milliseconds * 1'000'000;
    std::uint64_t value = end_ns;
    while (cpu_time_ns() < end_ns) {
        for (int round = 0; round < 20'000; ++round) {
            value = value * 6364136223846793005ULL + 1442695040888963407ULL;
            __asm__ __volatile__("" : "+r"(value));
        }
    }
}

// Prints "ready", waits for "go", then calls run(false) a few times, run(true) once, and run(false)
// again.
template <typename Run>
int serve(Run run) {
    if (!examples::wait_for_go()) return 1;
    for (int number = 0; number < fast_runs; ++number) run(false);
    run(true);
    for (int number = 0; number < fast_runs; ++number) run(false);
    return 0;
}

}  // namespace cases
