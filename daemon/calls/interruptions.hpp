// Measures how much of a thread's CPU time goes to hardware interrupts and to a hypervisor that
// runs other guests. Thread clocks include that time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace lagtrap::daemon {

// Use it on one thread.
class Interruptions {
  public:
    // Reads the clock repeatedly for `length`, on the calling thread.
    void watch(std::chrono::nanoseconds length);
    // Adds times between consecutive clock readings, as watch() measures them. A gap of several
    // times the median counts as an interruption.
    void add(const std::vector<std::uint64_t>& gaps_ns);
    // Slowdown by interruptions over everything that was measured: work that takes 1 takes this
    // long. 1 if nothing was measured.
    [[nodiscard]] double factor() const;

  private:
    double undisturbed_ns_ = 0, interrupted_ns_ = 0;
};

}  // namespace lagtrap::daemon
