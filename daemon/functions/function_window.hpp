// The last seconds of a standing function trace: long calls, and totals by period. Its size is
// limited.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "calls/function_stream.hpp"

namespace lagtrap::daemon {

// Totals by function, with the longest call of all.
class FunctionSums {
  public:
    void add(const std::vector<calls::FunctionTotals>& totals);
    [[nodiscard]] std::vector<calls::FunctionTotals> all() const;

  private:
    std::map<std::uint32_t, calls::FunctionTotals> sums_;
};

// Use it on one thread. Times are CLOCK_MONOTONIC.
class FunctionWindow {
  public:
    struct Limits {
        std::size_t calls = 65'536;
        std::size_t totals = 65'536;  // in all periods together
    };
    // It begins now and keeps at least `length`, as far as the limits allow.
    FunctionWindow(std::chrono::nanoseconds length, std::uint64_t now_ns)
        : FunctionWindow(length, now_ns, Limits{}) {}
    FunctionWindow(std::chrono::nanoseconds length, std::uint64_t now_ns, const Limits& limits)
        : length_ns_(static_cast<std::uint64_t>(length.count())),
          limits_(limits),
          from_ns_(now_ns),
          period_ns_(now_ns) {}

    // Beyond the limit, the oldest calls are discarded.
    void add(std::vector<calls::TracedCall> calls);
    // Ends the current period, with the totals since the previous one. Discards what is older than
    // the length.
    void end_period(std::uint64_t now_ns, std::vector<calls::FunctionTotals> totals);
    // End of the last period.
    [[nodiscard]] std::uint64_t period_ns() const { return period_ns_; }

    // Start of the window.
    [[nodiscard]] std::uint64_t from_ns() const { return from_ns_; }
    // Calls that ended in the window.
    [[nodiscard]] std::vector<calls::TracedCall> calls() const;
    [[nodiscard]] std::size_t kept() const { return calls_.size(); }
    // Number of calls that ended in the window and were discarded.
    [[nodiscard]] std::uint64_t dropped() const;
    [[nodiscard]] FunctionSums sums() const;

  private:
    struct Period {
        std::uint64_t begin_ns = 0, end_ns = 0;
        std::uint64_t dropped = 0;
        std::vector<calls::FunctionTotals> totals;
    };
    void drop_periods(std::uint64_t now_ns);

    const std::uint64_t length_ns_;
    const Limits limits_;
    std::uint64_t from_ns_, period_ns_;
    std::deque<calls::TracedCall> calls_;  // in the order they were reported
    std::deque<Period> periods_;
    std::size_t totals_ = 0;
    std::uint64_t dropped_ = 0;  // in the current period
};

}  // namespace lagtrap::daemon
