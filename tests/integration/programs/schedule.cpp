// A run of random steps: computing, and waits of each class. Reports the kernel's own accounting of
// the thread.
// schedule SEED [value]: with "value" that is the key instead of the thread, and each step is a
// stage. Prints "ready", waits for a line, and prints a JSON object.
#include <lagtrap.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>

namespace {

std::uint64_t now_ns(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

// How long the thread has waited for a CPU: the second number of schedstat.
std::uint64_t waited_ns() {
    unsigned long long ran = 0, waited = 0;
    std::FILE* const file = std::fopen("/proc/thread-self/schedstat", "r");
    if (file == nullptr || std::fscanf(file, "%llu %llu", &ran, &waited) != 2) std::abort();
    std::fclose(file);
    return waited;
}

// Time the host has stolen from all CPUs, in whole ticks.
std::uint64_t stolen_ns() {
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0,
                       steal = 0;
    std::FILE* const file = std::fopen("/proc/stat", "r");
    if (file == nullptr || std::fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user,
                                       &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 8)
        std::abort();
    std::fclose(file);
    return steal * 1'000'000'000 / static_cast<unsigned long long>(::sysconf(_SC_CLK_TCK));
}

struct Clocks {
    std::uint64_t wall_ns = 0, cpu_ns = 0, waited_ns = 0;
    static Clocks read() {
        return {now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_THREAD_CPUTIME_ID), ::waited_ns()};
    }
};

void nap(std::uint64_t length_ns) {
    const timespec time{static_cast<time_t>(length_ns / 1'000'000'000),
                        static_cast<long>(length_ns % 1'000'000'000)};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

void burn(std::uint64_t length_ns) {
    const std::uint64_t end_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + length_ns;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
    }
}

void wait_for_lock(std::uint64_t length_ns) {
    std::mutex lock;
    std::condition_variable taken;
    std::mutex about;
    bool is_taken = false;
    std::thread holder([&] {
        const std::lock_guard held(lock);
        {
            const std::lock_guard saying(about);
            is_taken = true;
        }
        taken.notify_one();
        nap(length_ns);
    });
    {
        std::unique_lock saying(about);
        taken.wait(saying, [&] { return is_taken; });
    }
    lock.lock();
    lock.unlock();
    holder.join();
}

void wait_for_events(std::uint64_t length_ns) {
    ::poll(nullptr, 0, static_cast<int>(length_ns / 1'000'000) + 1);
}

void wait_for_child(std::uint64_t length_ns) {
    const pid_t child = ::fork();
    if (child == 0) {
        nap(length_ns);
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
}

struct Step {
    const char* reason;  // as in a report
    void (*wait)(std::uint64_t length_ns);
};
constexpr std::array<Step, 5> steps{{{"", burn},
                                     {"sleep", nap},
                                     {"lock (futex)", wait_for_lock},
                                     {"events", wait_for_events},
                                     {"child process", wait_for_child}}};

constexpr int key = 42;
void begin_by_thread() { LAGTRAP_BEGIN("schedule"); }
void end_by_thread() { LAGTRAP_END("schedule"); }
void begin_by_value() { LAGTRAP_BEGIN_KEY("valued", key); }
void end_by_value() { LAGTRAP_END_KEY("valued", key); }

}  // namespace

int main(int count, char** arguments) {
    std::minstd_rand random(count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) + 1 : 1);
    std::puts("ready");
    std::fflush(stdout);
    (void)std::getchar();
    std::map<std::string, std::uint64_t> planned_ns;
    const std::uint64_t stolen_before_ns = stolen_ns();
    const Clocks before = Clocks::read();
    const bool by_value = count > 2;
    by_value ? begin_by_value() : begin_by_thread();
    const Clocks begun = Clocks::read();
    while (now_ns(CLOCK_MONOTONIC) - begun.wall_ns < 400'000'000) {
        const Step& step = steps[random() % steps.size()];
        if (by_value) LAGTRAP_STAGE_KEY("valued", "step", key);
        const std::uint64_t length_ns = 1'000'000 + random() % 20'000'000;
        step.wait(length_ns);
        if (step.reason[0] != 0) planned_ns[step.reason] += length_ns;
    }
    const Clocks ending = Clocks::read();
    by_value ? end_by_value() : end_by_thread();
    const Clocks after = Clocks::read();
    const auto print = [](const char* name, const Clocks& from, const Clocks& to) {
        std::printf("\"%s\": {\"wall_ns\": %lu, \"on_cpu_ns\": %lu, \"runnable_ns\": %lu}, ", name,
                    to.wall_ns - from.wall_ns, to.cpu_ns - from.cpu_ns,
                    to.waited_ns - from.waited_ns);
    };
    std::printf("{");
    print("inner", begun, ending);
    print("outer", before, after);
    // A partial tick may be in progress.
    const std::uint64_t tick_ns =
        1'000'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    std::printf("\"stolen_ns\": %lu, ",
                stolen_ns() + (stolen_before_ns > 0 ? tick_ns : 0) - stolen_before_ns);
    std::printf("\"planned_ns\": {");
    const char* between = "";
    for (const auto& [reason, length_ns] : planned_ns) {
        std::printf("%s\"%s\": %lu", between, reason.c_str(), length_ns);
        between = ", ";
    }
    std::printf("}}\n");
    std::fflush(stdout);
    // Stays alive so that its code can be inspected.
    while (std::getchar() != EOF) {
    }
    return 0;
}
