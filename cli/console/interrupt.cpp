#include "cli/console/interrupt.hpp"

#include <initializer_list>

namespace lagtrap::cli {

volatile std::sig_atomic_t interrupted = 0;

namespace {

void note_interrupt(int) { interrupted = 1; }

void note(std::initializer_list<int> signals, unsigned flags) {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND | flags);
    for (const int signal : signals) ::sigaction(signal, &action, nullptr);
}

}  // namespace

// SA_RESTART lets a write in progress complete.
void note_interrupts() { note({SIGINT}, SA_RESTART); }

void note_interrupts_while_waiting() { note({SIGINT, SIGTERM}, 0); }

}  // namespace lagtrap::cli
