// The functions of one running process under watch: finds them, puts the probes in, keeps them within their two bounds. Who
// asked for it says where the calls go.
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
#include "daemon/functions/runtime_functions.hpp"
#include "daemon/functions/runtime_pauses.hpp"
#include "daemon/functions/told_rate.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/traced_process.hpp"

namespace lagtrap::daemon {

struct FunctionRequest {
    FunctionWishes wishes;
    std::chrono::nanoseconds least = std::chrono::microseconds(20);  // shorter calls are counted, not told
    std::chrono::nanoseconds length{0};                              // 0: until the lines are unwanted
    double budget = 0.1;                                             // of a CPU, for the probes
    std::shared_ptr<const std::atomic<std::size_t>> shared_by;  // traces that have it together; null: this one alone
    std::uint64_t bytes_per_second = 200'000;                   // of calls that are told
};

// One thread's. Its end takes the probes out.
class FunctionWatch {
  public:
    // `costs` are asked for when the functions are found. Ends soon once `stop` is set. Errors: as plan_functions() has them,
    // and what the kernel refuses.
    [[nodiscard]] static Result<std::unique_ptr<FunctionWatch>> begin(const FunctionRequest& request,
                                                                      ProcessInspector& inspector,
                                                                      const std::function<CallCosts()>& costs,
                                                                      const std::atomic<bool>& stop);

    [[nodiscard]] const calls::FunctionsStarted& started() const { return plan_.told; }
    [[nodiscard]] std::uint64_t began_ns() const { return began_ns_; }  // CLOCK_MONOTONIC

    struct Seen {
        std::vector<calls::Function> more;       // that a runtime told of: their numbers go on
        std::vector<calls::TracedCall> calls;    // that ended, as many as may be told
        std::vector<calls::TakenOut> taken_out;  // from now on
    };
    // As long as callers that have nothing else to do wait for a call.
    static constexpr std::chrono::milliseconds call_wait{20};
    // Waits for the first call, for so long at the most. To be called all the time: it keeps the bounds.
    [[nodiscard]] Seen look(std::chrono::milliseconds wait);
    // What is there now.
    [[nodiscard]] Seen take(std::chrono::milliseconds wait);
    // What was counted since the last time.
    [[nodiscard]] std::vector<calls::FunctionTotals> take_totals();
    [[nodiscard]] bool process_has_ended() const;

    struct Losses {
        std::uint64_t not_sent = 0;  // calls
        std::uint64_t too_deep = 0;
    };
    // So far.
    [[nodiscard]] Losses losses() const;
    // So far.
    [[nodiscard]] std::vector<calls::RuntimeEnd> runtimes() const;
    [[nodiscard]] std::uint64_t unnamed() const { return engine_->totals().runtime_unnamed; }
    // Of a CPU, for the probes, as it is now.
    [[nodiscard]] double budget() const;
    // The minimum as it is now.
    [[nodiscard]] std::uint64_t least_ns() const { return engine_->totals().least_ns; }
    // Returns when the kernel has taken the probes out, with how long that took.
    [[nodiscard]] std::uint64_t detach();

  private:
    explicit FunctionWatch(const FunctionRequest& request)
        : request_(request), rate_(request.least, request.bytes_per_second), thinning_(request.budget) {}
    [[nodiscard]] Status begin(ProcessInspector& inspector, const std::function<CallCosts()>& costs,
                               const std::atomic<bool>& stop);
    [[nodiscard]] Status attach(const CallCosts& costs);
    void describe(const CallCosts& costs, const std::vector<CallProbes::Refused>& refused);
    void keep_runtimes_within(double share, std::uint64_t now_ns);
    [[nodiscard]] bool renumber(calls::TracedCall& call) const;
    [[nodiscard]] bool renumber(calls::FunctionTotals& totals) const;

    const FunctionRequest request_;
    std::optional<TracedProcess> process_;
    FunctionPlan plan_;
    std::unique_ptr<FunctionEngine> engine_;
    ToldRate rate_;
    CallThinning thinning_;
    std::optional<RuntimeFunctions> runtime_functions_;
    RuntimePauses runtime_pauses_;
    bool runtimes_in_ = false;
    calls::ProbeCost runtime_cost_;
    std::uint64_t began_ns_ = 0, beyond_rate_ = 0;
    std::vector<calls::FunctionTotals> taken_;  // by function, as they were when they were taken last
};

}  // namespace lagtrap::daemon
