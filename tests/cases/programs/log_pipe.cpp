// A request waits for the lock of the log, whose holder writes to a pipe that is full, because the
// process that reads the log compresses a batch.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>

#include "program.hpp"

namespace {

constexpr std::size_t dump_bytes = 1 << 20;  // more than a pipe has room for

std::mutex log_lock;
std::binary_semaphore begin(0);
std::binary_semaphore lock_held(0);

void write_all(int log, const std::string& text) {
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t now = ::write(log, text.data() + written, text.size() - written);
        if (now <= 0) cases::give_up("write");
        written += static_cast<std::size_t>(now);
    }
}

PLANTED void compress_batch() { cases::compute_ms(500); }

void ship_log(int log) {
    ::prctl(PR_SET_NAME, "log-shipper");
    std::string text(4096, ' ');
    bool compressed = false;
    for (ssize_t bytes = 0; (bytes = ::read(log, text.data(), text.size())) > 0;) {
        const auto end = text.begin() + bytes;
        if (!compressed && std::find(text.begin(), end, 'D') != end) {
            compress_batch();
            compressed = true;
        }
    }
    ::_exit(0);
}

PLANTED void log_request(int log) {
    const std::lock_guard lock(log_lock);
    write_all(log, "a request\n");
}

PLANTED void dump_state(int log) {
    const std::lock_guard lock(log_lock);
    lock_held.release();
    write_all(log, std::string(dump_bytes, 'D'));
}

PLANTED void handle_request(int log) {
    log_request(log);
    __asm__ __volatile__("" ::: "memory");
}

}  // namespace

int main() {
    int ends[2];
    if (::pipe(ends) != 0) cases::give_up("pipe");
    const pid_t shipper = ::fork();
    if (shipper < 0) cases::give_up("fork");
    if (shipper == 0) {
        ::close(ends[1]);
        ship_log(ends[0]);
    }
    ::close(ends[0]);
    std::thread dumper([&ends] {
        cases::name_thread("dumper");
        begin.acquire();
        dump_state(ends[1]);
    });
    const int status = cases::serve([&ends](bool slow) {
        if (slow) {
            begin.release();
            lock_held.acquire();
        }
        handle_request(ends[1]);
    });
    dumper.join();
    ::close(ends[1]);
    ::waitpid(shipper, nullptr, 0);
    return status;
}
