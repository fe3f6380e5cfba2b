// Measures the current cost of call-trace probes on this machine, by tracing functions of this
// program.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "daemon/calls/batch_costs.hpp"
#include "daemon/calls/call_costs.hpp"
#include "daemon/calls/interruptions.hpp"

namespace lagtrap::daemon {

class CallEngine;

// Use it on one thread. Some functions of this program have probes as long as it lives. At most one
// of each kind (Go or not) may exist at a time.
class CostMeter {
  public:
    // `of_go`: measure as in Go programs, where each probe looks up its goroutine. Takes 100 to 200
    // ms, or some seconds if the kernel attaches probes slowly. If measuring fails, the defaults in
    // CallCosts remain.
    explicit CostMeter(bool of_go);
    ~CostMeter();
    CostMeter(const CostMeter&) = delete;
    CostMeter& operator=(const CostMeter&) = delete;

    // Returns the last costs if they are less than 200 ms old. Otherwise measures again, which
    // takes 2 ms of CPU time, because on virtual machines the cost of a single-stepped instruction
    // varies by 10 to 25 % within seconds. The costs are medians over the last batches, so that a
    // disturbed batch has little effect.
    [[nodiscard]] const CallCosts& costs();

  private:
    void run_batch(std::uint64_t rounds);
    void reckon();

    bool of_go_;
    std::chrono::steady_clock::time_point measured_at_;
    std::uint64_t work_ns_ = 0;  // by the functions themselves
    std::unique_ptr<CallEngine> engine_;
    MeasuredCosts measured_;
    Interruptions interruptions_;
    CallCosts costs_;
};

// Shares the meters between traces: each meter exists as long as a trace uses it. Thread-safe.
class CostMeters {
  public:
    // Keeps a meter alive. `meters` must outlive it. The first one takes as long as CostMeter's
    // constructor. The last destructor returns when the kernel has removed the probes.
    class Use {
      public:
        Use(CostMeters& meters, bool of_go);
        ~Use();
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        [[nodiscard]] CallCosts costs() const;

      private:
        CostMeters& meters_;
        bool of_go_;
    };

  private:
    struct Meter {
        std::unique_ptr<CostMeter> meter;
        std::size_t uses = 0;
    };
    std::mutex mutex_;  // held while measuring, because two measurements would disturb each other
    std::array<Meter, 2> meters_;
};

}  // namespace lagtrap::daemon
