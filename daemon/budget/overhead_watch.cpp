#include "daemon/budget/overhead_watch.hpp"

#include <utility>

#include "core/clock.hpp"
#include "daemon/budget/budget_texts.hpp"
#include "daemon/budget/difference.hpp"

namespace lagtrap::daemon {

OverheadWatch::OverheadWatch(Log log) : log_(std::move(log)), use_(measure_probe_costs()) {}

void OverheadWatch::use(const settings::Budget& budget, EventMonitor& monitor,
                        const RecordingCosts& costs) {
    monitor_ = &monitor;
    budget_ = OverheadBudget(budget, monitor.events().size());
    use_.restart(monitor.events().size());
    before_ = count(costs);
}

OverheadReadings OverheadWatch::count(const RecordingCosts& costs) {
    return {monotonic_ns(),          daemon_cpu_ns(),           costs.recordings,
            costs.history_ns,        monitor_->times_cost_ns(), monitor_->hits(),
            monitor_->take_parties()};
}

std::optional<bool> OverheadWatch::look(const RecordingCosts& costs) {
    if (monitor_ == nullptr) return std::nullopt;
    OverheadReadings now = count(costs);
    const WatchUse use = use_.between(before_, now);
    before_ = std::move(now);
    keep_history_.reset();
    for (const BudgetStep& step : budget_.look(use, before_.at_ns)) take(step);
    return keep_history_;
}

Status OverheadWatch::carry_out(const BudgetStep& step, std::uint64_t watched_ppm) {
    using Action = BudgetStep::Action;
    switch (step.action) {
        case Action::DropHistory:
        case Action::KeepHistory:
            keep_history_ = step.action == Action::KeepHistory;
            return success();
        case Action::DropTimes:
        case Action::CountTimes: return monitor_->count_times(step.action == Action::CountTimes);
        case Action::Detach:
            monitor_->weights()->set(step.event, 1);
            monitor_->disable(step.event, disabled_problem(step, watched_ppm), step.counted);
            return success();
        case Action::StopCount:
            monitor_->disable(step.event, disabled_problem(step, watched_ppm), false);
            return success();
        case Action::WatchPart:
            monitor_->weights()->set(step.event, weight_of_part(watched_ppm));
            monitor_->disable(step.event, disabled_problem(step, watched_ppm), step.counted);
            return success();
        case Action::WatchWhole: monitor_->weights()->set(step.event, 1); return success();
        case Action::DropStacks:
        case Action::TakeStacks:
            return monitor_->take_stacks(step.event, step.action == Action::TakeStacks);
        case Action::DropStages:
        case Action::WatchStages:
            return monitor_->watch_stages(step.event, step.action == Action::WatchStages);
        case Action::Limit:
        case Action::Release:
            return monitor_->limit(step.event, step.party, step.action == Action::Limit);
        case Action::Attach: monitor_->enable(step.event, step.news); break;
    }
    return success();
}

std::chrono::nanoseconds OverheadWatch::again_in(const BudgetStep& step) const {
    using Action = BudgetStep::Action;
    if (step.action == Action::DropHistory) return history_again_in();
    if (step.action == Action::DropTimes) return times_again_in();
    if (is_whole(step.action)) return std::chrono::nanoseconds::zero();
    return step.action == Action::DropStages ? stages_again_in(step.event) : again_in(step.event);
}

void OverheadWatch::take(const BudgetStep& step) {
    const bool whole = is_whole(step.action);
    const std::uint64_t watched_ppm = whole ? 0 : budget_.watched_ppm(step.event);
    if (const Status done = carry_out(step, watched_ppm); !done)
        return log_.warn(done.error().message);
    const std::string event = whole ? std::string() : monitor_->events()[step.event].name;
    const auto message = message_about(step, event, watched_ppm, again_in(step));
    if (message)
        log_.write(message->is_warning ? Log::Level::Warning : Log::Level::Information,
                   message->text);
}

OverheadStatus OverheadWatch::status() const {
    OverheadStatus status;
    status.used_ppm = budget_.used_ppm();
    status.share_ppm = budget_.budget().share_ppm;
    status.recording_share_ppm = budget_.budget().recording_share_ppm;
    status.looks = budget_.looks();
    status.exhausted = budget_.exhausted();
    status.disabled_count = budget_.disabled_count();
    status.program_ns = use_.usual().ns;
    status.program_measured = use_.usual().measured;
    status.probes = use_.probes();
    return status;
}

std::chrono::nanoseconds OverheadWatch::again_in(std::uint32_t event) const {
    return std::chrono::nanoseconds(since(budget_.again_ns(event), monotonic_ns()));
}

std::chrono::nanoseconds OverheadWatch::stages_again_in(std::uint32_t event) const {
    return std::chrono::nanoseconds(since(budget_.stages_again_ns(event), monotonic_ns()));
}

std::chrono::nanoseconds OverheadWatch::history_again_in() const {
    return until_back(budget_.history_again_ns(), monotonic_ns());
}

std::chrono::nanoseconds OverheadWatch::times_again_in() const {
    return until_back(budget_.times_again_ns(), monotonic_ns());
}

std::vector<std::string> OverheadWatch::disabled_now() const {
    if (monitor_ == nullptr) return {};
    return disabled_sentences(budget_.history_again_ns() != 0, budget_.times_again_ns() != 0,
                              monitor_->status());
}

}  // namespace lagtrap::daemon
