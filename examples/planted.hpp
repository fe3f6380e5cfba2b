// Delays with a known cause. Each has its own function, which call stacks must show, lasts about
// `duration_ns` and returns its actual duration in nanoseconds.
#pragma once

#include <cstdint>
#include <string>

extern "C" {
// Keeps the CPU busy.
std::uint64_t planted_cpu_burn(std::uint64_t duration_ns);
// Waits for a mutex that the thread "lock-holder" holds while it computes in planted_lock_holder.
// Returns how long that thread held it.
std::uint64_t planted_lock_wait(std::uint64_t duration_ns);
std::uint64_t planted_lock_holder(std::uint64_t duration_ns);
std::uint64_t planted_sleep(std::uint64_t duration_ns);
// Writes and syncs a file in `directory` repeatedly, then removes it.
std::uint64_t planted_fsync(std::uint64_t duration_ns, const char* directory);
// Touches new pages of memory repeatedly.
std::uint64_t planted_page_faults(std::uint64_t duration_ns);
// Waits until standard input ends or SIGTERM arrives.
std::uint64_t planted_wait_for_ever();
}

namespace examples {

// The ID of the thread "lock-holder"; 0 before the first planted_lock_wait().
int lock_holder_tid();

// Keeps the CPU busy for `duration_ns`.
void work_for(std::uint64_t duration_ns);

}  // namespace examples
