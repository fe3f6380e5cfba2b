// How much a trace of functions tells a second: a bound that holds, and a minimum of calls that follows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "calls/function_stream.hpp"

namespace lagtrap::daemon {

// One thread's.
class ToldRate {
  public:
    // What a call takes in a line, at most, on average.
    static constexpr std::uint64_t bytes_of_call = 90;

    ToldRate(std::chrono::nanoseconds least, std::uint64_t bytes_per_second)
        : wanted_(least), least_(least), calls_per_second_(bytes_per_second / bytes_of_call) {}

    // Whether this call may still be told; up to a second's share at once.
    [[nodiscard]] bool take(const calls::TracedCall& call);
    // The minimum from now on, where it changes: doubled while more comes than may be told, halved, down to what was wanted,
    // while less than a fourth does.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> look(std::uint64_t now_ns);

  private:
    std::chrono::nanoseconds wanted_, least_;
    std::uint64_t calls_per_second_;
    std::uint64_t looked_ns_ = 0, filled_ns_ = 0;
    double room_ = 0;         // calls that may be told now
    std::uint64_t came_ = 0;  // since the last look
};

}  // namespace lagtrap::daemon
