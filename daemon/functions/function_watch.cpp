#include "daemon/functions/function_watch.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::daemon {

Result<std::unique_ptr<FunctionWatch>> FunctionWatch::begin(const FunctionRequest& request, ProcessInspector& inspector,
                                                            const std::function<CallCosts()>& costs,
                                                            const std::atomic<bool>& stop) {
    std::unique_ptr<FunctionWatch> self(new FunctionWatch(request));
    TRY(self->begin(inspector, costs, stop));
    return self;
}

Status FunctionWatch::begin(ProcessInspector& inspector, const std::function<CallCosts()>& measure,
                            const std::atomic<bool>& stop) {
    const std::uint32_t pid = request_.wishes.pid;
    process_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process_.valid())
        return make_error(ErrorKind::NotFound,
                          fmt::format("there is no process {}; a thread's number is not enough", pid));
    const std::uint64_t asked_ns = monotonic_ns();
    TRY_ASSIGN(plan_, plan_functions(request_.wishes, inspector, stop));
    plan_.told.plan_ns = monotonic_ns() - asked_ns;
    const CallCosts costs = measure();
    TRY_ASSIGN(engine_, FunctionEngine::load(static_cast<pid_t>(pid)));
    engine_->set_least(request_.least);
    for (std::uint32_t number = 0; number < plan_.functions.size(); ++number)
        engine_->set_cost(number, costs.of(plan_.functions[number]));
    const std::uint64_t loaded_ns = monotonic_ns();
    // What is hit while probes are put in counts.
    (void)thinning_.look(std::chrono::nanoseconds(loaded_ns), {}, {});
    TRY_ASSIGN(const auto refused, engine_->attach(plan_.files, plan_.functions));
    plan_.told.attach_ns = monotonic_ns() - loaded_ns;
    describe(costs, refused);
    began_ns_ = monotonic_ns();
    taken_.resize(plan_.functions.size());
    return success();
}

void FunctionWatch::describe(const CallCosts& costs, const std::vector<CallProbes::Refused>& refused) {
    calls::FunctionsStarted& told = plan_.told;
    told.pid = request_.wishes.pid;
    if (auto name = read_file(fmt::format("/proc/{}/comm", told.pid), 64))
        told.process = printable(name->substr(0, name->find('\n')));
    for (const PlannedFunction& function : plan_.functions) {
        calls::Function one;
        one.name = printable(function.name);
        one.module = printable(plan_.files[function.file].path);
        one.level = 1;
        one.cost = costs.of(function);
        one.entry = function.entry;
        told.functions.push_back(std::move(one));
    }
    if (!refused.empty()) told.refused.push_back({refused.front().reason, refused.size()});
    told.hooks = hooks_of(plan_.functions, costs);
    told.attached_by = has_uprobe_multi()
                           ? "uprobe_multi: all probes at once, in this process alone"
                           : "single probes: this kernel has no others, and all processes with these files have them";
}

FunctionWatch::Seen FunctionWatch::look(std::chrono::milliseconds wait) {
    Seen seen{take_calls(wait), {}};
    const std::uint64_t now_ns = monotonic_ns();
    if (const auto least = rate_.look(now_ns)) engine_->set_least(*least);
    thinning_.set_share(budget());
    if (engine_->is_taking_out()) return seen;
    seen.taken_out = thinning_.look(std::chrono::nanoseconds(now_ns), engine_->hits(), plan_.told.functions);
    if (seen.taken_out.empty()) return seen;
    std::set<std::uint32_t> numbers;
    for (const calls::TakenOut& one : seen.taken_out) numbers.insert(one.function);
    // Those that could not be put in again are missed from now on, and so are their calls: nothing wrong is told.
    (void)engine_->take_out(numbers);
    return seen;
}

std::vector<calls::TracedCall> FunctionWatch::take_calls(std::chrono::milliseconds wait) {
    std::vector<calls::TracedCall> calls = engine_->take_calls(wait);
    beyond_rate_ += std::erase_if(calls, [&](const calls::TracedCall& call) { return !rate_.take(call); });
    return calls;
}

std::vector<calls::FunctionTotals> FunctionWatch::take_totals() {
    std::vector<calls::FunctionTotals> fresh;
    for (calls::FunctionTotals& now : engine_->functions()) {
        if (now.function >= taken_.size()) continue;
        const calls::FunctionTotals before = std::exchange(taken_[now.function], now);
        if (now.calls <= before.calls) continue;
        now.calls -= before.calls;
        now.left -= before.left;
        now.own_ns -= before.own_ns;
        fresh.push_back(std::move(now));
    }
    engine_->forget_longest();
    return fresh;
}

double FunctionWatch::budget() const {
    const std::size_t sharers = request_.shared_by ? request_.shared_by->load() : 1;
    return request_.budget / static_cast<double>(std::max<std::size_t>(sharers, 1));
}

bool FunctionWatch::process_has_ended() const {
    pollfd waiting{process_.get(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 1;
}

FunctionWatch::Losses FunctionWatch::losses() const {
    const lagtrap_traced_totals totals = engine_->totals();
    return {totals.not_sent + beyond_rate_, totals.too_deep};
}

std::uint64_t FunctionWatch::detach() {
    const std::uint64_t detaching_ns = monotonic_ns();
    engine_->detach();
    return monotonic_ns() - detaching_ns;
}

}  // namespace lagtrap::daemon
