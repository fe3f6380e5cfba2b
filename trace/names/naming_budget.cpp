#include "trace/names/naming_budget.hpp"

#include "core/clock.hpp"

namespace lagtrap::trace {

NamingBudget::NamingBudget(const NamingLimits& limits)
    : limits_(limits), cpu_begun_(thread_cpu_time()), begun_(std::chrono::steady_clock::now()) {}

bool NamingBudget::time_left() const {
    return thread_cpu_time() - cpu_begun_ < limits_.cpu_time &&
           std::chrono::steady_clock::now() - begun_ < limits_.wall_time;
}

bool NamingBudget::take_bytes(std::uint64_t bytes) {
    if (read_bytes_ >= limits_.read_bytes || bytes > limits_.read_bytes - read_bytes_) return false;
    read_bytes_ += bytes;
    return true;
}

void NamingBudget::spend_bytes(std::uint64_t bytes) { read_bytes_ += bytes; }

}  // namespace lagtrap::trace
