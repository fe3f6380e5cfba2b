// An export starts a converter, and checks again and again whether it has ended, as programs do
// that wait for a child process with a timeout.
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "program.hpp"

namespace {

PLANTED void convert_pages() {
    cases::compute_ms(400);
    __asm__ __volatile__("" ::: "memory");
}

PLANTED void wait_with_timeout(pid_t child) {
    for (int tries = 0; tries < 10'000; ++tries) {
        if (::waitpid(child, nullptr, WNOHANG) == child) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    cases::give_up("waitpid");
}

PLANTED void run_converter(bool slow) {
    char program[] = "/proc/self/exe";
    char name[] = "converter";
    char mode[] = "slow";
    char* const arguments[] = {name, slow ? mode : nullptr, nullptr};
    char* const environment[] = {nullptr};
    pid_t converter = 0;
    if (::posix_spawn(&converter, program, nullptr, nullptr, arguments, environment) != 0)
        cases::give_up("posix_spawn");
    wait_with_timeout(converter);
}

PLANTED void export_report(bool slow) {
    run_converter(slow);
    __asm__ __volatile__("" ::: "memory");
}

}  // namespace

int main(int count, char** arguments) {
    if (std::strcmp(arguments[0], "converter") == 0) {
        cases::name_thread("converter");
        if (count > 1) convert_pages();
        return 0;
    }
    return cases::serve([](bool slow) { export_report(slow); });
}
