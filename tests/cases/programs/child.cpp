// A commit starts a hook, which is another program, and waits for its end.
#include <spawn.h>
#include <sys/wait.h>

#include <cstring>

#include "program.hpp"

namespace {

PLANTED void check_style() {
    cases::compute_ms(400);
    __asm__ __volatile__("" ::: "memory");
}

PLANTED void run_hook(bool thorough) {
    char program[] = "/proc/self/exe";
    char name[] = "style-hook";
    char mode[] = "thorough";
    char* const arguments[] = {name, thorough ? mode : nullptr, nullptr};
    char* const environment[] = {nullptr};
    pid_t hook = 0;
    if (::posix_spawn(&hook, program, nullptr, nullptr, arguments, environment) != 0)
        cases::give_up("posix_spawn");
    if (::waitpid(hook, nullptr, 0) != hook) cases::give_up("waitpid");
}

PLANTED void commit(bool thorough) {
    run_hook(thorough);
    __asm__ __volatile__("" ::: "memory");
}

}  // namespace

int main(int count, char** arguments) {
    if (std::strcmp(arguments[0], "style-hook") == 0) {
        cases::name_thread("style-hook");
        if (count > 1) check_style();
        return 0;
    }
    return cases::serve([](bool slow) { commit(slow); });
}
