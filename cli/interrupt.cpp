#include "cli/interrupt.hpp"

namespace lagtrap::cli {

volatile std::sig_atomic_t interrupted = 0;

namespace {

void note_interrupt(int) { interrupted = 1; }

}  // namespace

void note_interrupts() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = note_interrupt;
    // What is being written then is written whole.
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace lagtrap::cli
