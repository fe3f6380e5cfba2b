// Plans a trace of calls, and adds the functions that its indirect calls reach while it runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <set>
#include <vector>

#include "core/result.hpp"
#include "daemon/calls/call_engine.hpp"
#include "daemon/calls/call_plan.hpp"
#include "daemon/calls/indirect_looks.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

// Use it on one thread.
class PlanGrowth {
  public:
    // See CallPlanner and IndirectLooks.
    PlanGrowth(ProcessInspector& inspector, const std::atomic<bool>& stop, double budget)
        : planner_(inspector, stop), looks_(budget) {}

    // CallPlanner::plan()
    [[nodiscard]] Result<CallPlan> plan(const CallWishes& wishes);
    struct Added {
        std::vector<PlannedFunction> functions;  // at the end of the plan
        std::set<std::uint32_t> seen;            // numbers of those that were called
    };
    // Call it often, with the same plan; another thread owns the plan while is_reading(). `hit_ns`:
    // the cost of a probe on an indirect call.
    [[nodiscard]] std::optional<Added> look(std::uint64_t now_ns, CallPlan& plan,
                                            CallEngine& engine, std::uint64_t hit_ns);
    // Do not probe indirect calls of these functions any more.
    void leave_out(const std::set<std::uint32_t>& functions) {
        left_out_.insert(functions.begin(), functions.end());
    }
    void stop(CallEngine& engine);
    [[nodiscard]] bool is_reading() const { return adding_.valid(); }
    // Waits until is_reading() is over.
    void wait() const {
        if (adding_.valid()) adding_.wait();
    }

  private:
    void read(const std::vector<CallEngine::Seen>& seen, CallPlan& plan, CallEngine& engine);
    [[nodiscard]] std::optional<Added> take_added(std::uint64_t now_ns, const CallPlan& plan);

    CallPlanner planner_;
    IndirectLooks looks_;
    std::set<std::uint32_t> left_out_;
    std::size_t known_ = 0;  // functions of the plan
    std::future<Result<std::set<std::uint32_t>>> adding_;
};

}  // namespace lagtrap::daemon
