// Limits how many calls a function trace reports per second, and adapts the minimum duration of
// reported calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "calls/function_stream.hpp"

namespace lagtrap::daemon {

// Use it on one thread.
class ReportedRate {
  public:
    // Average upper bound for the size of a call in a line.
    static constexpr std::uint64_t bytes_of_call = 90;

    ReportedRate(std::chrono::nanoseconds least, std::uint64_t bytes_per_second)
        : wanted_(least), least_(least), calls_per_second_(bytes_per_second / bytes_of_call) {}

    // True if this call may be reported. Up to one second's share may be used at once.
    [[nodiscard]] bool take(const calls::TracedCall& call);
    // The new minimum duration, if it changes. It doubles while more calls arrive than may be
    // reported, and halves, down to the configured one, while less than a quarter does.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> look(std::uint64_t now_ns);

  private:
    std::chrono::nanoseconds wanted_, least_;
    std::uint64_t calls_per_second_;
    std::uint64_t looked_ns_ = 0, filled_ns_ = 0;
    double room_ = 0;         // calls that may be reported now
    std::uint64_t came_ = 0;  // since the last look()
};

}  // namespace lagtrap::daemon
