// Handles interrupts (Ctrl-C) while a command waits.
#pragma once

#include <csignal>

namespace lagtrap::cli {

// Set by the first interrupt after note_interrupts().
extern volatile std::sig_atomic_t interrupted;

// From now on, the first interrupt is noted; a second one ends the program.
void note_interrupts();
// As note_interrupts(), and for SIGTERM too. Blocking system calls then fail with EINTR.
void note_interrupts_while_waiting();

}  // namespace lagtrap::cli
