// What naming the functions of a recording may cost. Its end leaves frames with module and offset; that is counted.
#pragma once

#include <chrono>
#include <cstdint>

namespace lagtrap::trace {

struct NamingLimits {
    // CPU time of the thread that names, and the clock's: low priority can make the second far longer than the first.
    std::chrono::milliseconds cpu_time{2000};
    std::chrono::milliseconds wall_time{60'000};
    std::uint64_t read_bytes = 1ULL << 30;        // tables and debug information of all files together
    std::uint64_t symbol_table_bytes = 96 << 20;  // memory of one file's symbols while its frames are named
    std::uint64_t name_bytes = 48 << 20;          // memory of all names
    std::uint64_t inlined_functions = 500'000;    // frames that they add
};

// One thread's; begins to count when it is made.
class NamingBudget {
  public:
    explicit NamingBudget(const NamingLimits& limits);

    [[nodiscard]] const NamingLimits& limits() const { return limits_; }
    [[nodiscard]] bool time_left() const;
    // Whether so much may still be read; if so it counts as read.
    [[nodiscard]] bool take_bytes(std::uint64_t bytes);
    // Counts what was read already.
    void spend_bytes(std::uint64_t bytes);

  private:
    NamingLimits limits_;
    std::chrono::nanoseconds cpu_begun_;
    std::chrono::steady_clock::time_point begun_;
    std::uint64_t read_bytes_ = 0;
};

}  // namespace lagtrap::trace
