// Delays of known cause, each in a function of its own that a call stack must show. Each lasts about `duration_ns`
// and gives how long it really took.
#pragma once

#include <cstdint>
#include <string>

extern "C" {
// Keeps the CPU busy.
std::uint64_t planted_cpu_burn(std::uint64_t duration_ns);
// Waits for a mutex that the thread "lock-holder" holds meanwhile, busy in planted_lock_holder. The result is how
// long that thread held it.
std::uint64_t planted_lock_wait(std::uint64_t duration_ns);
std::uint64_t planted_lock_holder(std::uint64_t duration_ns);
std::uint64_t planted_sleep(std::uint64_t duration_ns);
// Writes and syncs a file of `directory` again and again; it is removed afterwards.
std::uint64_t planted_fsync(std::uint64_t duration_ns, const char* directory);
// Touches fresh pages of memory again and again.
std::uint64_t planted_page_faults(std::uint64_t duration_ns);
// Waits until standard input ends or SIGTERM arrives.
std::uint64_t planted_wait_for_ever();
}

namespace examples {

// The thread "lock-holder" has this id; 0 before planted_lock_wait was called.
int lock_holder_tid();

// Keeps the CPU busy for a short while, without a name of its own in the way.
void work_for(std::uint64_t duration_ns);

}  // namespace examples
