#include "examples/planted.hpp"

#include <fcntl.h>
#include <lagtrap.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#define PLANTED extern "C" __attribute__((noinline))

namespace {

std::atomic<int> holder_tid{0};
pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> held{false};
volatile std::sig_atomic_t terminated = 0;

// Takes tens of microseconds: long enough to keep clock reads out of the samples, short enough to
// stop on time.
inline __attribute__((always_inline)) std::uint64_t spin(std::uint64_t value) {
    for (int round = 0; round < 20'000; ++round) {
        value = value * 6364136223846793005ULL + 1442695040888963407ULL;
        __asm__ __volatile__("" : "+r"(value));
    }
    return value;
}

[[noreturn]] void give_up(const char* doing) {
    std::perror(doing);
    std::exit(1);
}

// These wrappers sit between a planted function and libc. libc has no frame pointers, so a
// frame-pointer walk from inside libc skips the direct caller.

__attribute__((noinline)) int wait_until(const timespec* deadline) {
    return ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, deadline, nullptr);
}

__attribute__((noinline)) void write_and_sync(int fd) {
    static const char block[4096] = {};
    if (::pwrite(fd, block, sizeof block, 0) != static_cast<ssize_t>(sizeof block))
        give_up("write");
    if (::fsync(fd) != 0) give_up("fsync");
}

__attribute__((noinline)) void wait_for_mutex() { ::pthread_mutex_lock(&contended); }

__attribute__((noinline)) int wait_for_end_of_input(const sigset_t* signals) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return ::ppoll(&input, 1, nullptr, signals);
}

__attribute__((noinline)) void* map_pages(std::size_t size) {
    return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

__attribute__((noinline)) int advise_pages(void* memory, std::size_t size, int advice) {
    return ::madvise(memory, size, advice);
}

__attribute__((noinline)) void unmap_pages(void* memory, std::size_t size) {
    ::munmap(memory, size);
}

struct HolderOrder {
    std::uint64_t duration_ns = 0;
    std::uint64_t held_ns = 0;
};

void* run_holder(void* opaque) {
    auto& order = *static_cast<HolderOrder*>(opaque);
    ::pthread_setname_np(::pthread_self(), "lock-holder");
    holder_tid = static_cast<int>(::syscall(SYS_gettid));
    ::pthread_mutex_lock(&contended);
    held = true;
    order.held_ns = planted_lock_holder(order.duration_ns);
    ::pthread_mutex_unlock(&contended);
    return nullptr;
}

}  // namespace

namespace examples {

int lock_holder_tid() { return holder_tid; }

void work_for(std::uint64_t duration_ns) {
    const std::uint64_t end = lagtrap_now_ns() + duration_ns;
    while (lagtrap_now_ns() < end) {
    }
}

}  // namespace examples

PLANTED std::uint64_t planted_cpu_burn(std::uint64_t duration_ns) {
    const std::uint64_t begin = lagtrap_now_ns();
    std::uint64_t value = begin;
    while (lagtrap_now_ns() - begin < duration_ns) value = spin(value);
    return lagtrap_now_ns() - begin;
}

PLANTED std::uint64_t planted_lock_holder(std::uint64_t duration_ns) {
    const std::uint64_t begin = lagtrap_now_ns();
    std::uint64_t value = begin;
    while (lagtrap_now_ns() - begin < duration_ns) value = spin(value);
    return lagtrap_now_ns() - begin;
}

PLANTED std::uint64_t planted_lock_wait(std::uint64_t duration_ns) {
    HolderOrder order{duration_ns, 0};
    pthread_t holder{};
    held = false;
    if (::pthread_create(&holder, nullptr, run_holder, &order) != 0) give_up("pthread_create");
    while (!held) ::sched_yield();
    wait_for_mutex();
    ::pthread_mutex_unlock(&contended);
    ::pthread_join(holder, nullptr);
    return order.held_ns;
}

PLANTED std::uint64_t planted_sleep(std::uint64_t duration_ns) {
    const std::uint64_t begin = lagtrap_now_ns();
    const std::uint64_t end = begin + duration_ns;
    const timespec deadline{static_cast<time_t>(end / 1'000'000'000),
                            static_cast<long>(end % 1'000'000'000)};
    while (wait_until(&deadline) == EINTR) {
    }
    return lagtrap_now_ns() - begin;
}

PLANTED std::uint64_t planted_fsync(std::uint64_t duration_ns, const char* directory) {
    const std::uint64_t begin = lagtrap_now_ns();
    const std::string path =
        std::string(directory) + "/planted-fsync-" + std::to_string(::getpid());
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) give_up(path.c_str());
    while (lagtrap_now_ns() - begin < duration_ns) write_and_sync(fd);
    ::close(fd);
    ::unlink(path.c_str());
    return lagtrap_now_ns() - begin;
}

PLANTED std::uint64_t planted_page_faults(std::uint64_t duration_ns) {
    constexpr std::size_t bytes = 4 << 20;
    constexpr std::size_t page_bytes = 4096;
    const std::uint64_t begin = lagtrap_now_ns();
    void* memory = map_pages(bytes);
    if (memory == MAP_FAILED) give_up("mmap");
    // Without this, one fault could map two megabytes. Kernels without huge pages reject the
    // advice, which is fine.
    (void)advise_pages(memory, bytes, MADV_NOHUGEPAGE);
    while (lagtrap_now_ns() - begin < duration_ns) {
        for (std::size_t at = 0; at < bytes; at += page_bytes)
            static_cast<volatile char*>(memory)[at] = 1;
        if (advise_pages(memory, bytes, MADV_DONTNEED) != 0) give_up("madvise");
    }
    unmap_pages(memory, bytes);
    return lagtrap_now_ns() - begin;
}

PLANTED std::uint64_t planted_wait_for_ever() {
    const std::uint64_t begin = lagtrap_now_ns();
    struct sigaction action {};
    action.sa_handler = [](int) { terminated = 1; };
    ::sigaction(SIGTERM, &action, nullptr);
    // Unblock SIGTERM only during the wait, so that none arrives between the check of `terminated`
    // and the wait.
    sigset_t blocked;
    sigset_t before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    while (terminated == 0) {
        if (wait_for_end_of_input(&before) <= 0) continue;
        char ignored[256];
        if (::read(STDIN_FILENO, ignored, sizeof ignored) <= 0) break;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return lagtrap_now_ns() - begin;
}
