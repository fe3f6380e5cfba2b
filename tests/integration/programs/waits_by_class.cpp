// Runs whose time passes in one known way. waits_by_class KIND [NUMBER]: prints "ready", waits for
// a line, and prints a JSON object.
//
// Runs of "timed" have the thread as their key, those of "passed" a value:
//   burn MS           computes for MS by the thread's own clock: a control group's quota makes it
//   take longer sleep MS          sleeps stop MS           stops itself; a child continues it page
//   MS           touches a page that arrives after MS disk FOLDER       reads 64 MiB of a file,
//   bypassing the cache old-call MS       sleeps by a system call of 32-bit code exit, exec, kill
//   leaves a run open: its thread ends, executes another program, is killed; then others' runs
//   follow nested MS         a run inside a run, each part of which sleeps for MS crowd THREADS
//   this many threads, each with a run open at the same time one-thread MS     sleep, stage,
//   compute, stage, sleep, all by one thread two-threads MS    a thread sleeps and wakes another,
//   which sleeps before its stage and computes after it
#include <fcntl.h>
#include <lagtrap.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t ms = 1'000'000;

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(3);
}

std::uint64_t now_ns(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

void nap(std::uint64_t length_ms) {
    const timespec time{static_cast<time_t>(length_ms / 1000),
                        static_cast<long>(length_ms % 1000 * ms)};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

void burn(std::uint64_t length_ms) {
    const std::uint64_t end_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + length_ms * ms;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
    }
}

// The child continues it after this time.
void stop(std::uint64_t length_ms) {
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string path = "/proc/" + std::to_string(self) + "/stat";
        for (char state = 0; state != 'T'; nap(1)) {
            std::FILE* const file = std::fopen(path.c_str(), "r");
            if (file == nullptr || std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1) ::_exit(1);
            std::fclose(file);
        }
        nap(length_ms);
        ::kill(self, SIGCONT);
        ::_exit(0);
    }
    LAGTRAP_BEGIN("timed");
    ::raise(SIGSTOP);
    LAGTRAP_END("timed");
    ::waitpid(child, nullptr, 0);
}

// A page whose content another thread provides late.
void touch_late_page(std::uint64_t length_ms) {
    const auto faults = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC));
    if (faults < 0) fail("userfaultfd");
    uffdio_api api{};
    api.api = UFFD_API;
    if (::ioctl(faults, UFFDIO_API, &api) != 0) fail("UFFDIO_API");
    const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const page =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uffdio_register range{};
    range.range.start = reinterpret_cast<std::uintptr_t>(page);
    range.range.len = size;
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (page == MAP_FAILED || ::ioctl(faults, UFFDIO_REGISTER, &range) != 0)
        fail("UFFDIO_REGISTER");
    std::thread handler([&] {
        uffd_msg message{};
        if (::read(faults, &message, sizeof message) != sizeof message) fail("read of the fault");
        nap(length_ms);
        uffdio_zeropage zero{};
        zero.range = range.range;
        if (::ioctl(faults, UFFDIO_ZEROPAGE, &zero) != 0) fail("UFFDIO_ZEROPAGE");
    });
    LAGTRAP_BEGIN("timed");
    *static_cast<volatile char*>(page) = 1;
    LAGTRAP_END("timed");
    handler.join();
}

void read_disk(const std::string& folder) {
    constexpr std::size_t block = 1 << 20;
    const std::string path = folder + "/read_past_the_cache";
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
    if (file < 0) fail(path.c_str());
    void* memory = nullptr;
    if (::posix_memalign(&memory, 4096, block) != 0) fail("posix_memalign");
    std::memset(memory, 'x', block);
    for (int i = 0; i < 64; ++i)
        if (::write(file, memory, block) != static_cast<ssize_t>(block)) fail("write");
    LAGTRAP_BEGIN("timed");
    for (int i = 0; i < 64; ++i)
        if (::pread(file, memory, block, static_cast<off_t>(i) * static_cast<off_t>(block)) <= 0)
            fail("pread");
    LAGTRAP_END("timed");
    ::unlink(path.c_str());
}

// nanosleep() of 32-bit code: its number is that of sync() for 64-bit code.
void sleep_in_32_bit(std::uint64_t length_ms) {
    static constexpr unsigned char code[] = {
        0x53,                             // push %rbx
        0x55,                             // push %rbp
        0x48, 0x89, 0xe5,                 // mov %rsp, %rbp
        0x48, 0x89, 0xf4,                 // mov %rsi, %rsp: a stack below 4 GiB
        0x89, 0xfb,                       // mov %edi, %ebx: the request
        0x31, 0xc9,                       // xor %ecx, %ecx
        0x6a, 0x23,                       // push the 32-bit code segment
        0x48, 0x8d, 0x05, 0x03, 0, 0, 0,  // lea 3(%rip), %rax
        0x50,                             // push %rax
        0x48, 0xcb,                       // lretq
        0xb8, 162,  0,    0,    0,        // mov $162, %eax
        0xcd, 0x80,                       // int $0x80
        0x6a, 0x33,                       // push the 64-bit code segment
        0xe8, 0,    0,    0,    0,        // call: pushes where it is
        0x83, 0x04, 0x24, 0x05,           // addl $5, (%esp)
        0xcb,                             // lret
        0x48, 0x89, 0xec,                 // mov %rbp, %rsp
        0x5d,                             // pop %rbp
        0x5b,                             // pop %rbx
        0xc3,                             // ret
    };
    constexpr std::size_t size = 65536;
    auto* const low =
        static_cast<unsigned char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
    if (low == MAP_FAILED) fail("mmap");
    std::memcpy(low, code, sizeof code);
    struct {
        std::uint32_t seconds, nanoseconds;
    } const request{0, static_cast<std::uint32_t>(length_ms * ms)};
    std::memcpy(low + 4096, &request, sizeof request);
    using Call = void (*)(std::uint64_t request, unsigned char* stack);
    const auto call = reinterpret_cast<Call>(reinterpret_cast<std::uintptr_t>(low));
    LAGTRAP_BEGIN("timed");
    call(reinterpret_cast<std::uintptr_t>(low) + 4096, low + size - 64);
    LAGTRAP_END("timed");
}

void some_runs() {
    for (int i = 0; i < 20; ++i) {
        LAGTRAP_SCOPE("timed");
        nap(1);
    }
}

void leave_open(std::string_view how, const char* program) {
    if (how == "exit") {
        std::thread([] { LAGTRAP_BEGIN("timed"); }).join();
    } else {
        const pid_t child = ::fork();
        if (child == 0) {
            LAGTRAP_BEGIN("timed");
            if (how == "exec") ::execl(program, program, "burn", "1", "--now", nullptr);
            ::raise(SIGKILL);
        }
        ::waitpid(child, nullptr, 0);
    }
    some_runs();
}

void nest(std::uint64_t length_ms) {
    LAGTRAP_SCOPE("timed");
    nap(length_ms);
    {
        LAGTRAP_SCOPE("timed");
        nap(length_ms);
    }
    nap(length_ms);
}

void* begin_and_wait(void* both) {
    LAGTRAP_BEGIN("timed");
    pthread_barrier_wait(static_cast<pthread_barrier_t*>(both));
    LAGTRAP_END("timed");
    return nullptr;
}

void crowd(std::uint64_t count) {
    pthread_barrier_t all;
    pthread_barrier_init(&all, nullptr, static_cast<unsigned>(count));
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    std::vector<pthread_t> threads(count);
    for (pthread_t& thread : threads)
        if (pthread_create(&thread, &small, begin_and_wait, &all) != 0) fail("pthread_create");
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

void one_thread(std::uint64_t length_ms) {
    LAGTRAP_BEGIN_KEY("passed", 7);
    nap(length_ms);
    LAGTRAP_STAGE_KEY("passed", "compute", 7);
    burn(length_ms);
    LAGTRAP_STAGE_KEY("passed", "rest", 7);
    nap(length_ms);
    LAGTRAP_END_KEY("passed", 7);
}

void two_threads(std::uint64_t length_ms) {
    std::mutex mutex;
    std::condition_variable changed;
    bool handed = false;
    std::thread receiver([&] {
        pthread_setname_np(pthread_self(), "receiver");
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return handed; });
        nap(length_ms);
        LAGTRAP_STAGE_KEY("passed", "received", 9);
        burn(length_ms);
        LAGTRAP_END_KEY("passed", 9);
    });
    nap(20);  // the receiver is waiting by now
    LAGTRAP_BEGIN_KEY("passed", 9);
    nap(length_ms);
    LAGTRAP_STAGE_KEY("passed", "prepared", 9);
    {
        const std::lock_guard lock(mutex);
        handed = true;
    }
    changed.notify_one();
    receiver.join();
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view kind = count > 1 ? arguments[1] : "";
    const char* const what = count > 2 ? arguments[2] : "0";
    const std::uint64_t number = std::strtoull(what, nullptr, 10);
    if (count == 3 || kind == "exit" || kind == "exec" || kind == "kill") {
        std::puts("ready");
        std::fflush(stdout);
        (void)std::getchar();
    }
    if (kind == "burn" || kind == "sleep") {
        LAGTRAP_SCOPE("timed");
        kind == "burn" ? burn(number) : nap(number);
    }
    if (kind == "stop") stop(number);
    if (kind == "page") touch_late_page(number);
    if (kind == "disk") read_disk(what);
    if (kind == "old-call") sleep_in_32_bit(number);
    if (kind == "exit" || kind == "exec" || kind == "kill") leave_open(kind, arguments[0]);
    if (kind == "nested") nest(number);
    if (kind == "crowd") crowd(number);
    if (kind == "one-thread") one_thread(number);
    if (kind == "two-threads") two_threads(number);
    std::printf("{\"kind\": \"%s\", \"tid\": %d}\n", arguments[1], ::gettid());
    return 0;
}
