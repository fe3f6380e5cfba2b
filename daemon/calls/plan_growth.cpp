#include "daemon/calls/plan_growth.hpp"

#include <chrono>
#include <system_error>

namespace lagtrap::daemon {

Result<CallPlan> PlanGrowth::plan(const CallWishes& wishes) {
    TRY_ASSIGN(CallPlan plan, planner_.plan(wishes));
    if (!wishes.only.empty() || plan.indirect_calls == 0) looks_.stop();
    known_ = plan.functions.size();
    return plan;
}

std::optional<PlanGrowth::Added> PlanGrowth::look(std::uint64_t now_ns, CallPlan& plan,
                                                  CallEngine& engine, std::uint64_t hit_ns) {
    using Step = IndirectLooks::Step;
    if (is_reading()) return take_added(now_ns, plan);
    switch (looks_.step(now_ns, engine.totals().indirect_hits, hit_ns)) {
        case Step::Wait: break;
        case Step::Begin:
            if (!engine.look_at_indirect(plan.files, plan.functions, left_out_, hit_ns))
                stop(engine);
            break;
        case Step::End: read(engine.take_seen(), plan, engine); break;
    }
    return std::nullopt;
}

void PlanGrowth::stop(CallEngine& engine) {
    looks_.stop();
    (void)engine.take_seen();
}

// On another thread, so that trees continue to arrive.
void PlanGrowth::read(const std::vector<CallEngine::Seen>& seen, CallPlan& plan,
                      CallEngine& engine) {
    std::vector<CallPlanner::Address> addresses;
    for (const CallEngine::Seen& one : seen)
        if (one.function < plan.functions.size())
            addresses.push_back({one.address, plan.functions[one.function].level + 1});
    try {
        adding_ = std::async(std::launch::async,
                             [this, addresses, &plan] { return planner_.add(addresses, plan); });
    } catch (const std::system_error&) {
        stop(engine);
    }
}

std::optional<PlanGrowth::Added> PlanGrowth::take_added(std::uint64_t now_ns,
                                                        const CallPlan& plan) {
    if (adding_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
    auto seen = adding_.get();
    if (plan.functions.size() == known_) {
        looks_.note_nothing_new(now_ns);
        return std::nullopt;
    }
    Added added;
    added.functions.assign(plan.functions.begin() + static_cast<std::ptrdiff_t>(known_),
                           plan.functions.end());
    if (seen) added.seen = std::move(*seen);
    known_ = plan.functions.size();
    return added;
}

}  // namespace lagtrap::daemon
