#include "daemon/functions/function_watch.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/clock.hpp"
#include "core/text.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::chrono::milliseconds urgent_wait(4);

}  // namespace

Result<std::unique_ptr<FunctionWatch>> FunctionWatch::begin(const FunctionRequest& request,
                                                            ProcessInspector& inspector,
                                                            const std::function<CallCosts()>& costs,
                                                            const std::atomic<bool>& stop) {
    std::unique_ptr<FunctionWatch> self(new FunctionWatch(request));
    TRY(self->begin(inspector, costs, stop));
    return self;
}

Status FunctionWatch::begin(ProcessInspector& inspector, const std::function<CallCosts()>& measure,
                            const std::atomic<bool>& stop) {
    const std::uint32_t pid = request_.wishes.pid;
    TRY_ASSIGN(process_, TracedProcess::open(pid));
    const std::uint64_t asked_ns = monotonic_ns();
    TRY_ASSIGN(plan_, plan_functions(request_.wishes, inspector, stop));
    plan_.reported.plan_ns = monotonic_ns() - asked_ns;
    const CallCosts costs = measure();
    TRY_ASSIGN(engine_, FunctionEngine::load({static_cast<pid_t>(pid), request_.wishes.owner},
                                             !plan_.runtimes.empty()));
    engine_->session().set_min_duration(request_.min_duration);
    TRY(attach(costs));
    began_ns_ = monotonic_ns();
    (void)runtime_pauses_.look(began_ns_, 0, budget());
    return success();
}

Status FunctionWatch::attach(const CallCosts& costs) {
    for (std::uint32_t number = 0; number < plan_.functions.size(); ++number)
        engine_->session().set_cost(number, costs.of(plan_.functions[number]));
    const std::uint64_t loaded_ns = monotonic_ns();
    // Hits during attaching count too.
    (void)engine_->session().too_expensive(thinning_, {});
    TRY_ASSIGN(const auto refused, engine_->session().attach(plan_.files, plan_.functions));
    runtime_functions_.emplace(static_cast<std::uint32_t>(plan_.functions.size()),
                               request_.wishes.include, request_.wishes.exclude);
    runtime_cost_ = runtime_cost(costs);
    runtimes_in_ = !plan_.runtimes.empty();
    if (runtimes_in_)
        if (const Status attached =
                engine_->attach_runtimes(plan_.files, plan_.runtimes, runtime_cost_);
            !attached) {
            if (plan_.functions.empty()) return attached;
            plan_.reported.refused.push_back({attached.error().message, plan_.runtimes.size()});
            plan_.runtimes.clear();
            runtimes_in_ = false;
        }
    plan_.reported.attach_ns = monotonic_ns() - loaded_ns;
    describe(costs, refused);
    return success();
}

void FunctionWatch::describe(const CallCosts& costs,
                             const std::vector<CallProbes::Refused>& refused) {
    calls::FunctionsStarted& reported = plan_.reported;
    reported.pid = request_.wishes.pid;
    reported.process = process_->name();
    for (const PlannedFunction& function : plan_.functions)
        reported.functions.push_back(reported_function(function, plan_.files, costs.of(function)));
    if (!refused.empty()) reported.refused.push_back({refused.front().reason, refused.size()});
    reported.hooks = hooks_of(plan_, costs);
    reported.attached_by = has_uprobe_multi()
                               ? "uprobe_multi: all probes at once, only in this process"
                               : "single probes: this kernel lacks uprobe_multi, so all processes "
                                 "with these files hit them";
}

FunctionWatch::Seen FunctionWatch::look(std::chrono::milliseconds wait) {
    Seen seen = take(thinning_.is_urgent() ? std::min(wait, urgent_wait) : wait);
    const std::uint64_t now_ns = monotonic_ns();
    if (const auto least = rate_.look(now_ns)) engine_->session().set_min_duration(*least);
    const double share =
        plan_.runtimes.empty() || plan_.functions.empty() ? budget() : budget() / 2;
    keep_runtimes_within(share, now_ns);
    thinning_.set_share(share);
    seen.detached = engine_->session().too_expensive(thinning_, plan_.reported.functions);
    if (seen.detached.empty()) return seen;
    std::set<std::uint32_t> numbers;
    for (const calls::DetachedFunction& one : seen.detached) numbers.insert(one.function);
    (void)engine_->session().detach_functions(numbers);
    return seen;
}

FunctionWatch::Seen FunctionWatch::take(std::chrono::milliseconds wait) {
    Seen seen;
    seen.calls = engine_->take_calls(wait);
    for (const FunctionEngine::Named& one : engine_->take_named()) {
        auto function = runtime_functions_->take(one.function, one.runtime, one.in_c);
        if (!function) {
            engine_->session().stop_counting(one.function.number);
            continue;
        }
        function->cost = runtime_cost_;
        plan_.reported.functions.push_back(*function);
        seen.more.push_back(std::move(*function));
    }
    std::erase_if(seen.calls, [&](calls::TracedCall& call) { return !renumber(call); });
    beyond_rate_ +=
        std::erase_if(seen.calls, [&](const calls::TracedCall& call) { return !rate_.take(call); });
    return seen;
}

// Drops functions that are not reported.
bool FunctionWatch::renumber(calls::TracedCall& call) const {
    const auto number = runtime_functions_->number_of(call.function);
    call.function = number.value_or(0);
    return number.has_value();
}

bool FunctionWatch::renumber(calls::FunctionTotals& totals) const {
    const auto number = runtime_functions_->number_of(totals.function);
    if (!number) return false;
    totals.function = *number;
    std::vector<std::uint32_t> path;
    for (const std::uint32_t caller : totals.path)
        if (const auto known = runtime_functions_->number_of(caller)) path.push_back(*known);
    totals.path = std::move(path);
    return true;
}

void FunctionWatch::keep_runtimes_within(double share, std::uint64_t now_ns) {
    if (plan_.runtimes.empty()) return;
    const lagtrap_traced_totals totals = engine_->totals();
    const std::uint64_t hit_ns = (runtime_cost_.inside_ns + runtime_cost_.around_ns) / 2;
    const bool in =
        runtime_pauses_.look(now_ns, totals.runtime_ns + totals.runtime_hits * hit_ns, share);
    if (in == runtimes_in_) return;
    // If they cannot be attached again, nothing more is recorded; `watched_ns` shows that.
    runtimes_in_ = engine_->watch_runtimes(in).ok() && in;
}

std::vector<calls::RuntimeEnd> FunctionWatch::runtimes() const {
    std::vector<calls::RuntimeEnd> all;
    for (const PlannedRuntime& one : plan_.runtimes) {
        const calls::RuntimeTraits& traits = calls::traits_of(one.runtime);
        calls::RuntimeEnd end{traits.language,
                              0,
                              runtime_functions_->left_out(one.runtime),
                              runtime_pauses_.in_ns(),
                              {}};
        for (const std::uint32_t number : runtime_functions_->all_of(one.runtime))
            end.hits += engine_->hits_of(number);
        if (end.hits == 0) end.advice = traits.advice;
        all.push_back(std::move(end));
    }
    return all;
}

std::vector<calls::FunctionTotals> FunctionWatch::take_totals() {
    std::vector<calls::FunctionTotals> fresh;
    for (calls::FunctionTotals& now : engine_->functions()) {
        auto one = totals_.take(std::move(now));
        if (one && renumber(*one)) fresh.push_back(std::move(*one));
    }
    engine_->forget_longest();
    return fresh;
}

double FunctionWatch::budget() const {
    const std::size_t sharers = request_.shared_by ? request_.shared_by->load() : 1;
    return request_.budget / static_cast<double>(std::max<std::size_t>(sharers, 1));
}

calls::FunctionsEnded FunctionWatch::so_far() const {
    const lagtrap_traced_totals totals = engine_->totals();
    calls::FunctionsEnded ended;
    ended.not_sent = totals.not_sent + beyond_rate_;
    ended.too_deep = totals.too_deep;
    ended.min_ns = totals.limits.min_ns;
    ended.unnamed = totals.runtime_unnamed;
    ended.runtimes = runtimes();
    return ended;
}

}  // namespace lagtrap::daemon
