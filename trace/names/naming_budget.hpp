// Limits the cost of naming a recording's functions. Frames beyond the budget keep module and
// offset; these are counted.
#pragma once

#include <chrono>
#include <cstdint>

namespace lagtrap::trace {

struct NamingLimits {
    // CPU time of the naming thread, and elapsed time: at low priority the latter can be far
    // longer.
    std::chrono::milliseconds cpu_time{2000};
    std::chrono::milliseconds wall_time{60'000};
    // of tables and debug information, all files together
    std::uint64_t read_bytes = 1ULL << 30;
    // memory for one file's symbols while its frames are named
    std::uint64_t symbol_table_bytes = 96 << 20;
    std::uint64_t name_bytes = 48 << 20;        // memory for all names
    std::uint64_t inlined_functions = 500'000;  // frames added for inlined functions
};

// Starts counting when constructed. Not thread-safe.
class NamingBudget {
  public:
    explicit NamingBudget(const NamingLimits& limits);

    [[nodiscard]] const NamingLimits& limits() const { return limits_; }
    // False once the CPU time or the elapsed time is used up.
    [[nodiscard]] bool time_left() const;
    // True if this many bytes may still be read; then they count as read.
    [[nodiscard]] bool take_bytes(std::uint64_t bytes);
    // Counts bytes that were already read.
    void spend_bytes(std::uint64_t bytes);

  private:
    NamingLimits limits_;
    std::chrono::nanoseconds cpu_begun_;
    std::chrono::steady_clock::time_point begun_;
    std::uint64_t read_bytes_ = 0;
};

}  // namespace lagtrap::trace
