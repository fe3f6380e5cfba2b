// Measures what the probes of a trace of calls take on this machine now, by tracing calls of this program itself.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "daemon/calls/call_costs.hpp"
#include "daemon/calls/interruptions.hpp"

namespace lagtrap::daemon {

class CallEngine;

// One thread's; as long as it lives, some functions of this program have probes. No two of one kind live at once.
class CostMeter {
  public:
    // `of_go`: as in programs of Go, where each probe looks for its goroutine. Takes 100 to 200 ms; where the kernel is slow with
    // probes some seconds. What cannot be measured stays as CallCosts has it.
    explicit CostMeter(bool of_go);
    ~CostMeter();
    CostMeter(const CostMeter&) = delete;
    CostMeter& operator=(const CostMeter&) = delete;

    // Measured within the last 200 ms, or now, which takes 2 ms of a CPU: on virtual machines a stepped instruction takes a tenth or a
    // quarter more or less within seconds. They are those of the last measurements together, so that one that was disturbed
    // changes little.
    [[nodiscard]] const CallCosts& costs();

  private:
    static constexpr std::size_t kinds = 6;
    // Of one kind, in each of the last batches: with all that the function does.
    struct KindCosts {
        std::deque<std::uint64_t> inside_ns, gap_ns;
    };
    void run_batch(std::uint64_t rounds);
    void reckon();

    bool of_go_;
    std::chrono::steady_clock::time_point measured_at_;
    std::uint64_t work_ns_ = 0;  // of the functions themselves
    std::unique_ptr<CallEngine> engine_;
    std::array<KindCosts, kinds> measured_;
    Interruptions interruptions_;
    CallCosts costs_;
};

// The meters that traces use, each there as long as one does. Several threads'.
class CostMeters {
  public:
    // Outlived by the meters. The first one takes as long as CostMeter does; ends with the kernel having taken the probes out.
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
    std::mutex mutex_;  // held while something is measured: two at once would disturb each other
    std::array<Meter, 2> meters_;
};

}  // namespace lagtrap::daemon
