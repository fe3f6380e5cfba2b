// A process that hangs: one thread holds a lock and reads from a FIFO without a writer, others wait
// for the lock, and the rest waits for work. Prints "ready" when all of them wait.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

std::mutex stock;
std::mutex jobs_mutex;
std::condition_variable jobs;
bool has_job = false;
std::atomic<int> begun{0};

__attribute__((noinline)) void read_delivery(const char* fifo) {
    const int file = open(fifo, O_RDWR);
    std::array<char, 8> text{};
    ++begun;
    if (read(file, text.data(), text.size()) < 0) std::perror("read");
    close(file);
}

__attribute__((noinline)) void take_delivery(const char* fifo) {
    const std::scoped_lock held(stock);
    read_delivery(fifo);
}

__attribute__((noinline)) void sell() {
    ++begun;
    const std::scoped_lock held(stock);
}

__attribute__((noinline)) void take_job() {
    std::unique_lock lock(jobs_mutex);
    ++begun;
    jobs.wait(lock, [] { return has_job; });
}

__attribute__((noinline)) void serve() {
    const int events = epoll_create1(0);
    epoll_event event{};
    ++begun;
    epoll_wait(events, &event, 1, -1);
}

}  // namespace

// stuck FIFO SELLERS POOL: SELLERS threads wait for the lock, POOL threads for jobs.
int main(int count, char** words) {
    if (count < 4) return 2;
    const int sellers = std::atoi(words[2]), pool = std::atoi(words[3]);
    std::vector<std::thread> threads;
    threads.emplace_back(take_delivery, words[1]);
    while (begun < 1) std::this_thread::yield();
    for (int i = 0; i < sellers; ++i) threads.emplace_back(sell);
    for (int i = 0; i < pool; ++i) threads.emplace_back(take_job);
    threads.emplace_back(serve);
    while (begun < sellers + pool + 2) std::this_thread::yield();
    std::puts("ready");
    std::fflush(stdout);
    for (std::thread& thread : threads) thread.join();
}
