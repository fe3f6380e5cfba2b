// How much of a thread's time on a CPU goes to what interrupts it: interrupts, and a host that runs something else. No clock of a thread
// leaves that out.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace lagtrap::daemon {

// One thread's.
class Interruptions {
  public:
    // Reads the clock over and over for so long, on the calling thread.
    void watch(std::chrono::nanoseconds length);
    // Times between two readings, each after the other, as watch() sees them. What takes several times as long as most is interrupted.
    void add(const std::vector<std::uint64_t>& gaps_ns);
    // What takes 1 without interruptions takes so much with them, in all that was watched; 1 if nothing was.
    [[nodiscard]] double factor() const;

  private:
    double undisturbed_ns_ = 0, interrupted_ns_ = 0;
};

}  // namespace lagtrap::daemon
