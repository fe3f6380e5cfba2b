// Watches functions of one running process: selects them, attaches probes, and keeps two limits,
// CPU cost and data rate. Callers decide where the calls go.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "calls/function_stream.hpp"
#include "core/result.hpp"
#include "daemon/calls/call_costs.hpp"
#include "daemon/calls/call_thinning.hpp"
#include "daemon/functions/function_engine.hpp"
#include "daemon/functions/function_plan.hpp"
#include "daemon/functions/function_records.hpp"
#include "daemon/functions/reported_rate.hpp"
#include "daemon/functions/runtime_functions.hpp"
#include "daemon/functions/runtime_pauses.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/traced_process.hpp"

namespace lagtrap::daemon {

struct FunctionRequest {
    FunctionWishes wishes;
    // shorter calls are counted only
    std::chrono::nanoseconds min_duration = std::chrono::microseconds(20);
    // 0: until the lines are unwanted
    std::chrono::nanoseconds length{0};
    double budget = 0.1;  // for the probes, in CPUs
    // Number of traces that share the budget; null: this trace alone.
    std::shared_ptr<const std::atomic<std::size_t>> shared_by;
    std::uint64_t bytes_per_second = 200'000;  // limit for reported calls
};

// Use it on one thread. Its destructor detaches the probes.
class FunctionWatch {
  public:
    // `costs` is called once the functions are selected. Ends soon with an error once `stop` is
    // set. Errors: see plan_functions(), or the kernel refuses something.
    [[nodiscard]] static Result<std::unique_ptr<FunctionWatch>> begin(
        const FunctionRequest& request, ProcessInspector& inspector,
        const std::function<CallCosts()>& costs, const std::atomic<bool>& stop);

    [[nodiscard]] const calls::FunctionsStarted& started() const { return plan_.reported; }
    [[nodiscard]] std::uint64_t began_ns() const { return began_ns_; }  // CLOCK_MONOTONIC

    struct Seen {
        // Functions that a runtime reported; their numbers continue the previous ones.
        std::vector<calls::Function> more;
        std::vector<calls::TracedCall> calls;           // ended calls, within the data rate
        std::vector<calls::DetachedFunction> detached;  // detached now, because of their cost
    };
    // How long callers without other work wait for a call.
    static constexpr std::chrono::milliseconds call_wait{20};
    // Waits up to `wait` for the first call. Call it continuously: it also enforces the limits.
    [[nodiscard]] Seen look(std::chrono::milliseconds wait);
    // Like look(), without enforcing the limits.
    [[nodiscard]] Seen take(std::chrono::milliseconds wait);
    // Totals since the last call.
    [[nodiscard]] std::vector<calls::FunctionTotals> take_totals();
    [[nodiscard]] const TracedProcess& process() const { return *process_; }

    // What runtimes reported and what was lost so far, without totals, length and reason.
    [[nodiscard]] calls::FunctionsEnded so_far() const;
    // Current budget for the probes, in CPUs.
    [[nodiscard]] double budget() const;
    // Current minimum duration of reported calls.
    [[nodiscard]] std::uint64_t min_ns() const { return engine_->totals().limits.min_ns; }
    // Detaches the probes. Returns how long the kernel took to remove them.
    [[nodiscard]] std::uint64_t detach() { return engine_->session().detach(); }

  private:
    explicit FunctionWatch(const FunctionRequest& request)
        : request_(request),
          rate_(request.min_duration, request.bytes_per_second),
          thinning_(request.budget) {}
    [[nodiscard]] Status begin(ProcessInspector& inspector, const std::function<CallCosts()>& costs,
                               const std::atomic<bool>& stop);
    [[nodiscard]] Status attach(const CallCosts& costs);
    void describe(const CallCosts& costs, const std::vector<CallProbes::Refused>& refused);
    [[nodiscard]] std::vector<calls::RuntimeEnd> runtimes() const;
    void keep_runtimes_within(double share, std::uint64_t now_ns);
    [[nodiscard]] bool renumber(calls::TracedCall& call) const;
    [[nodiscard]] bool renumber(calls::FunctionTotals& totals) const;

    const FunctionRequest request_;
    std::optional<TracedProcess> process_;
    FunctionPlan plan_;
    std::unique_ptr<FunctionEngine> engine_;
    ReportedRate rate_;
    CallThinning thinning_;
    std::optional<RuntimeFunctions> runtime_functions_;
    RuntimePauses runtime_pauses_;
    bool runtimes_in_ = false;
    calls::ProbeCost runtime_cost_;
    std::uint64_t began_ns_ = 0, beyond_rate_ = 0;
    FreshTotals totals_{LAGTRAP_TRACED_FUNCTIONS};
};

}  // namespace lagtrap::daemon
