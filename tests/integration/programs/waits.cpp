// Waits of known cause. waits KIND MS: prints "ready"; after "go", its thread "waiter" waits once
// in the event "work", and the program prints {"waited_ns":N}. The timeouts (cond, poll, epoll,
// receive, select) are MS long; otherwise the thread "partner" ends the wait after MS.
// With "burn" it does not wait, but works for MS of CPU time.
// waits spin: keeps a CPU busy under the name "bystander" until stdin closes.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "lagtrap.h"

namespace {

using Clock = std::chrono::steady_clock;

int check(int result, const char* doing) {
    if (result >= 0) return result;
    std::perror(doing);
    std::exit(1);
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// A wait, and what ends it from another thread.
struct Planted {
    std::function<void()> wait;
    std::function<void()> end;
};

timespec after(clockid_t clock, int ms) {
    timespec at{};
    ::clock_gettime(clock, &at);
    at.tv_nsec += ms % 1000 * 1'000'000L;
    at.tv_sec += ms / 1000 + at.tv_nsec / 1'000'000'000;
    at.tv_nsec %= 1'000'000'000;
    return at;
}

void read_byte(int fd) {
    char byte = 0;
    while (::read(fd, &byte, 1) < 0 && errno == EINTR) {
    }
}

void write_byte(int fd) { check(static_cast<int>(::write(fd, "x", 1)), "write"); }

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

Planted timed_condition(int ms) {
    return {[ms] {
                const timespec until = after(CLOCK_REALTIME, ms);
                ::pthread_mutex_lock(&mutex);
                while (::pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT) {
                }
                ::pthread_mutex_unlock(&mutex);
            },
            {}};
}

Planted timed_poll(int ms) {
    return {[ms] {
                pollfd nothing{::eventfd(0, 0), POLLIN, 0};
                ::poll(&nothing, 1, ms);
            },
            {}};
}

Planted timed_epoll(int ms) {
    return {[ms] {
                const int fd = check(::epoll_create1(0), "epoll_create1");
                epoll_event event{};
                ::epoll_wait(fd, &event, 1, ms);
            },
            {}};
}

Planted timed_receive(int ms) {
    return {[ms] {
                const int fd = check(::socket(AF_INET, SOCK_DGRAM, 0), "socket");
                const sockaddr_in any{AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {}};
                check(::bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof(any)), "bind");
                const timeval limit{ms / 1000, ms % 1000 * 1000};
                check(::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
                      "SO_RCVTIMEO");
                char byte = 0;
                (void)::recv(fd, &byte, 1, 0);
            },
            {}};
}

// A timer that the thread set, but not to end its wait: it makes a descriptor readable.
Planted timer_descriptor(int ms) {
    return {[ms] {
                const int fd = check(::timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
                const itimerspec once{{}, {ms / 1000, ms % 1000 * 1'000'000L}};
                check(::timerfd_settime(fd, 0, &once, nullptr), "timerfd_settime");
                std::uint64_t times = 0;
                check(static_cast<int>(::read(fd, &times, sizeof(times))), "read");
            },
            {}};
}

Planted futex(int) {
    static bool ready = false;
    return {[] {
                ::pthread_mutex_lock(&mutex);
                while (!ready) ::pthread_cond_wait(&condition, &mutex);
                ::pthread_mutex_unlock(&mutex);
            },
            [] {
                ::pthread_mutex_lock(&mutex);
                ready = true;
                ::pthread_cond_signal(&condition);
                ::pthread_mutex_unlock(&mutex);
            }};
}

Planted through_pipe(int) {
    int ends[2];
    check(::pipe(ends), "pipe");
    return {[fd = ends[0]] { read_byte(fd); }, [fd = ends[1]] { write_byte(fd); }};
}

Planted through_unix(int) {
    int ends[2];
    check(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    return {[fd = ends[0]] { read_byte(fd); }, [fd = ends[1]] { write_byte(fd); }};
}

Planted through_eventfd(int) {
    const int fd = check(::eventfd(0, 0), "eventfd");
    return {[fd] {
                std::uint64_t count = 0;
                check(static_cast<int>(::read(fd, &count, sizeof(count))), "read");
            },
            [fd] {
                const std::uint64_t one = 1;
                check(static_cast<int>(::write(fd, &one, sizeof(one))), "write");
            }};
}

// Two connected loopback sockets.
std::pair<int, int> loopback_pair(int type) {
    sockaddr_in address{AF_INET, 0, {htonl(INADDR_LOOPBACK)}, {}};
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof(address);
    const int first = check(::socket(AF_INET, type, 0), "socket");
    check(::bind(first, plain, length), "bind");
    check(::getsockname(first, plain, &length), "getsockname");
    const int second = check(::socket(AF_INET, type, 0), "socket");
    if (type == SOCK_DGRAM) {
        check(::connect(second, plain, length), "connect");
        return {first, second};
    }
    check(::listen(first, 1), "listen");
    check(::connect(second, plain, length), "connect");
    return {check(::accept(first, nullptr, nullptr), "accept"), second};
}

Planted through_loopback(int type) {
    const auto [receiver, sender] = loopback_pair(type);
    return {[fd = receiver] { read_byte(fd); }, [fd = sender] { write_byte(fd); }};
}

Planted sleep_in_select(int ms) {
    return {[ms] {
                timeval limit{ms / 1000, ms % 1000 * 1000};
                ::select(0, nullptr, nullptr, nullptr, &limit);
            },
            {}};
}

std::string own_path() { return "/tmp/lagtrap-waits-" + std::to_string(::getpid()); }

Planted open_pipe(int) {
    const std::string path = own_path();
    check(::mkfifo(path.c_str(), 0600), "mkfifo");
    return {[path] {
                check(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "open");
                ::unlink(path.c_str());
            },
            [path] { check(::open(path.c_str(), O_WRONLY | O_CLOEXEC), "open"); }};
}

// The accept queue has room for one connection, which is there already.
Planted connect_to_full(int) {
    sockaddr_un address{AF_UNIX, {}};
    own_path().copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int listener = check(::socket(AF_UNIX, SOCK_STREAM, 0), "socket");
    const auto connect = [address] {
        const int fd = check(::socket(AF_UNIX, SOCK_STREAM, 0), "socket");
        check(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              "connect");
    };
    check(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), "bind");
    check(::listen(listener, 0), "listen");
    connect();
    return {[connect, path = own_path()] {
                connect();
                ::unlink(path.c_str());
            },
            [listener] { check(::accept(listener, nullptr, nullptr), "accept"); }};
}

Planted burn(int ms) {
    return {[ms] {
                const timespec until = after(CLOCK_THREAD_CPUTIME_ID, ms);
                timespec now{};
                do {
                    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
                } while (now.tv_sec < until.tv_sec ||
                         (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec));
            },
            {}};
}

void spin() {
    ::prctl(PR_SET_NAME, "bystander");
    std::atomic<bool> done = false;
    std::thread watch([&done] {
        char byte = 0;
        while (::read(STDIN_FILENO, &byte, 1) > 0) {
        }
        done = true;
    });
    std::puts("ready");
    std::fflush(stdout);
    while (!done) {
    }
    watch.join();
}

int run(const Planted& planted, int ms) {
    std::puts("ready");
    std::fflush(stdout);
    char line[8];
    if (std::fgets(line, sizeof(line), stdin) == nullptr) return 1;
    std::thread partner;
    if (planted.end)
        partner = std::thread([&planted, ms] {
            ::prctl(PR_SET_NAME, "partner");
            sleep_ms(ms);
            planted.end();
        });
    const auto begin = Clock::now();
    LAGTRAP_BEGIN("work");
    planted.wait();
    LAGTRAP_END("work");
    const auto waited = std::chrono::nanoseconds(Clock::now() - begin).count();
    if (partner.joinable()) partner.join();
    std::printf("{\"waited_ns\":%lld}\n", static_cast<long long>(waited));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string, std::function<Planted(int)>> kinds{
        {"cond", timed_condition},
        {"poll", timed_poll},
        {"epoll", timed_epoll},
        {"receive", timed_receive},
        {"timerfd", timer_descriptor},
        {"select", sleep_in_select},
        {"fifo", open_pipe},
        {"connect", connect_to_full},
        {"burn", burn},
        {"futex", futex},
        {"pipe", through_pipe},
        {"unix", through_unix},
        {"eventfd", through_eventfd},
        {"tcp", [](int) { return through_loopback(SOCK_STREAM); }},
        {"udp", [](int) { return through_loopback(SOCK_DGRAM); }},
    };
    if (argc == 2 && std::strcmp(argv[1], "spin") == 0) {
        spin();
        return 0;
    }
    const auto kind = argc == 3 ? kinds.find(argv[1]) : kinds.end();
    if (kind == kinds.end()) {
        std::fprintf(stderr, "usage: waits KIND MS | spin\n");
        return 2;
    }
    ::prctl(PR_SET_NAME, "waiter");
    const int ms = std::atoi(argv[2]);
    return run(kind->second(ms), ms);
}
