#include "daemon/budget/overhead_watch.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "core/clock.hpp"
#include "core/duration.hpp"
#include "daemon/budget/difference.hpp"

namespace lagtrap::daemon {
namespace {

// With fewer hits between two checks, the cost does not matter, however high each hit's cost is.
constexpr std::uint64_t few_hits = 1000;

// Cost of a hit that is only counted: one clock reading, the cookie, two maps.
constexpr std::uint64_t counting_ns = 120;

// At least one millisecond, because a disabled part is back when a check has enabled it, not when
// its pause ends.
std::chrono::nanoseconds until_back(std::uint64_t again_ns) {
    using namespace std::chrono_literals;
    if (again_ns == 0) return 0ns;
    return std::max<std::chrono::nanoseconds>(
        1ms, std::chrono::nanoseconds(since(again_ns, monotonic_ns())));
}

}  // namespace

OverheadWatch::OverheadWatch(boost::asio::io_context& context, Options options)
    : timer_(context), options_(std::move(options)), probes_(measure_probe_costs()) {}

void OverheadWatch::use(const settings::Budget& budget, EventMonitor& monitor) {
    monitor_ = &monitor;
    budget_ = OverheadBudget(budget, monitor.events().size());
    programs_.assign(monitor.events().size(), {});
    usual_ = {};
    before_ = count();
    await_look();
}

void OverheadWatch::stop() {
    timer_.cancel();
    monitor_ = nullptr;
}

void OverheadWatch::await_look() {
    timer_.expires_after(
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(budget_.budget().interval));
    timer_.async_wait([this](const auto& failure) {
        if (failure || monitor_ == nullptr) return;
        look();
        await_look();
    });
}

OverheadWatch::Counted OverheadWatch::count() {
    return {monotonic_ns(),
            daemon_cpu_ns(),
            options_.recordings(),
            options_.history_cost_ns(),
            monitor_->times_cost_ns(),
            monitor_->hits(),
            monitor_->take_parties()};
}

namespace {

// One party's part of `total_ns`, given its `own` hits among `all` sampled hits.
std::uint64_t part_of(std::uint64_t total_ns, std::uint64_t own, std::uint64_t all) {
    return all == 0
               ? 0
               : static_cast<std::uint64_t>(static_cast<double>(total_ns) *
                                            static_cast<double>(own) / static_cast<double>(all));
}

// True if the step concerns all events.
bool is_whole(BudgetStep::Action action) {
    using Action = BudgetStep::Action;
    return action == Action::DropHistory || action == Action::KeepHistory ||
           action == Action::DropTimes || action == Action::CountTimes;
}

}  // namespace

void OverheadWatch::share_cost(EventUse& use, const EventMonitor::EventHits& before,
                               const EventMonitor::EventHits& now, const HitParties& parties,
                               std::uint64_t program_ns) const {
    const std::uint64_t passed = std::min(since(now.passed, before.passed), use.hits);
    const std::uint64_t probe_ns = probes_.mean(now.kinds);
    std::uint64_t paired_looked_at = 0, passed_looked_at = 0;
    for (const PartyHits& user : parties.users) {
        paired_looked_at += user.paired;
        passed_looked_at += user.passed;
    }
    use.probe_ns = (use.hits - passed) * (probe_ns + program_ns);
    if (passed_looked_at == 0) use.probe_ns += passed * probe_ns;
    // Kinds are in attach order: end, stages, begin. Markers in several files are averaged.
    const auto kind_ns = [&](const std::vector<ProbeKind>& kinds) {
        return kinds.empty() ? probe_ns : probes_.mean(kinds);
    };
    std::vector<ProbeKind> of_stages, of_begin;
    if (now.kinds.size() >= 2) {
        of_begin = {now.kinds.back()};
        of_stages.assign(now.kinds.begin() + 1, now.kinds.end() - 1);
    }
    const std::uint64_t stage_ns =
        since(now.stage_hits, before.stage_hits) * (kind_ns(of_stages) + program_ns);
    use.stage_ns = std::min(stage_ns, use.probe_ns);
    const bool is_countable = of_begin != std::vector{ProbeKind::Scheduler};
    if (is_countable)
        use.count_ns = since(now.begin_hits, before.begin_hits) * (kind_ns(of_begin) + counting_ns);
    use.seen = now.seen;
    const auto cost_of = [&](const PartyHits& hits) {
        return PartyUse{hits.who,
                        part_of(use.probe_ns + use.stack_ns, hits.paired, paired_looked_at),
                        part_of(passed * probe_ns, hits.passed, passed_looked_at)};
    };
    for (const PartyHits& user : parties.users) use.users.push_back(cost_of(user));
    for (const PartyHits& process : parties.processes) use.processes.push_back(cost_of(process));
}

WatchUse OverheadWatch::use_between(const Counted& before, const Counted& now) {
    WatchUse use;
    use.elapsed_ns = since(now.at_ns, before.at_ns);
    const bool recorded = before.recordings.now || now.recordings.now ||
                          now.recordings.begun != before.recordings.begun;
    use.own_cpu_ns = recorded ? 0 : since(now.own_cpu_ns, before.own_cpu_ns);
    if (now.history_cost_ns > before.history_cost_ns)
        use.history_ns = now.history_cost_ns - before.history_cost_ns;
    if (before.times_cost_ns != 0) use.times_ns = since(now.times_cost_ns, before.times_cost_ns);
    use.events.resize(now.hits.size());
    use.exact = true;
    std::uint64_t hits = 0, programs_ns = 0;
    for (std::size_t event = 0; event < now.hits.size(); ++event) {
        const EventMonitor::EventHits last =
            event < before.hits.size() ? before.hits[event] : EventMonitor::EventHits{};
        EventUse& one = use.events[event];
        one.hits = since(now.hits[event].hits, last.hits);
        one.stack_ns = since(now.hits[event].stack_ns, last.stack_ns);
        one.armed = !now.hits[event].kinds.empty();
        CostCounts costs{};
        for (std::size_t i = 0; i < costs.size(); ++i)
            costs[i] = since(now.hits[event].costs[i], last.costs[i]);
        if (const auto measured = program_cost_ns(costs)) programs_[event] = {*measured, true};
        const auto parties = now.parties.find(static_cast<std::uint32_t>(event));
        share_cost(one, last, now.hits[event],
                   parties == now.parties.end() ? HitParties{} : parties->second,
                   programs_[event].ns);
        use.exact = use.exact && (programs_[event].measured || one.hits < few_hits);
        hits += one.hits;
        programs_ns += one.hits * programs_[event].ns;
    }
    if (hits >= few_hits) usual_ = {programs_ns / hits, use.exact};
    return use;
}

void OverheadWatch::look() {
    Counted now = count();
    const WatchUse use = use_between(before_, now);
    before_ = std::move(now);
    for (const BudgetStep& step : budget_.look(use, before_.at_ns)) take(step);
}

void OverheadWatch::take_whole(const BudgetStep& step) {
    using Action = BudgetStep::Action;
    const bool history = step.action == Action::DropHistory || step.action == Action::KeepHistory;
    const bool again = step.action == Action::KeepHistory || step.action == Action::CountTimes;
    if (history)
        options_.keep_history(again);
    else if (const auto done = monitor_->count_times(again); !done)
        return options_.warn(done.error().message);
    const std::string what = history ? "the time before a breach is" : "the time of runs is";
    const std::string how = history ? "kept" : "broken down";
    if (again) return options_.inform(what + " " + how + " again");
    options_.warn(fmt::format("{} not {}: {}; retry in {}", what, how, step.reason,
                              format_duration(history ? history_again_in() : times_again_in())));
}

void OverheadWatch::take(const BudgetStep& step) {
    if (is_whole(step.action)) return take_whole(step);
    const std::string& name = monitor_->events()[step.event].name;
    const std::string again = format_duration(again_in(step.event));
    switch (step.action) {
        case BudgetStep::Action::Detach: {
            const std::string how = step.counted ? "counted, not timed" : "disabled";
            monitor_->weights()->set(step.event, 1);
            monitor_->shed(step.event, how + ": " + step.reason, step.counted);
            return options_.warn(
                fmt::format("event {} is {}: {}; retry in {}", name, how, step.reason, again));
        }
        case BudgetStep::Action::StopCount:
            monitor_->shed(step.event, "disabled: " + step.reason, false);
            return options_.warn(
                fmt::format("event {} is no longer counted: {}", name, step.reason));
        case BudgetStep::Action::WatchPart: {
            const std::string part =
                percent_of_ppm(budget_.watched_ppm(step.event)) + " of the time";
            monitor_->weights()->set(step.event, static_cast<std::uint32_t>(
                                                     1'000'000 / budget_.watched_ppm(step.event)));
            monitor_->shed(step.event, "watched " + part + ", currently off: " + step.reason,
                           step.counted);
            if (step.news)
                options_.warn(fmt::format("event {} is watched {}{}: {}", name, part,
                                          step.counted ? " and counted in between" : "",
                                          step.reason));
            return;
        }
        case BudgetStep::Action::WatchWhole:
            monitor_->weights()->set(step.event, 1);
            return options_.inform(fmt::format("event {} is watched all the time again", name));
        case BudgetStep::Action::DropStacks:
            if (const auto done = monitor_->take_stacks(step.event, false); !done)
                return options_.warn(done.error().message);
            return options_.warn(
                fmt::format("event {} has no stacks at its markers: {}; retry in {}", name,
                            step.reason, again));
        case BudgetStep::Action::DropStages:
        case BudgetStep::Action::WatchStages: return take_stages(step);
        case BudgetStep::Action::Limit:
        case BudgetStep::Action::Release: return take_limit(step);
        case BudgetStep::Action::DropHistory:
        case BudgetStep::Action::KeepHistory:
        case BudgetStep::Action::DropTimes:
        case BudgetStep::Action::CountTimes: return;
        case BudgetStep::Action::Attach: return monitor_->arm_again(step.event, step.news);
        case BudgetStep::Action::TakeStacks:
            if (const auto done = monitor_->take_stacks(step.event, true); !done)
                return options_.warn(done.error().message);
            return options_.inform("event " + name + " has stacks at its markers again");
    }
}

void OverheadWatch::take_stages(const BudgetStep& step) {
    const std::string& name = monitor_->events()[step.event].name;
    const bool watched = step.action == BudgetStep::Action::WatchStages;
    if (const auto done = monitor_->watch_stages(step.event, watched); !done)
        return options_.warn(done.error().message);
    if (watched) return options_.inform("event " + name + " has its stages again");
    options_.warn(fmt::format("event {} has no stages: {}; retry in {}", name, step.reason,
                              format_duration(stages_again_in(step.event))));
}

void OverheadWatch::take_limit(const BudgetStep& step) {
    const std::string& name = monitor_->events()[step.event].name;
    const std::string who = step.party.pid == 0 ? party_text(step.party.party)
                                                : fmt::format("process {} of {}", step.party.pid,
                                                              party_text(step.party.party));
    const bool limits = step.action == BudgetStep::Action::Limit;
    if (const auto done = monitor_->limit(step.event, step.party, limits); !done)
        return options_.warn(done.error().message);
    if (limits)
        options_.warn(fmt::format("event {} is not watched for {}: {}; other users are", name, who,
                                  step.reason));
    else
        options_.inform(fmt::format("event {} is watched for {} again", name, who));
}

OverheadStatus OverheadWatch::status() const {
    OverheadStatus status;
    status.used_ppm = budget_.used_ppm();
    status.share_ppm = budget_.budget().share_ppm;
    status.recording_share_ppm = budget_.budget().recording_share_ppm;
    status.looks = budget_.looks();
    status.exhausted = budget_.exhausted();
    status.times_shed = budget_.times_shed();
    status.program_ns = usual_.ns;
    status.program_measured = usual_.measured;
    status.probes = probes_;
    return status;
}

std::chrono::nanoseconds OverheadWatch::again_in(std::uint32_t event) const {
    return std::chrono::nanoseconds(since(budget_.again_ns(event), monotonic_ns()));
}

std::chrono::nanoseconds OverheadWatch::stages_again_in(std::uint32_t event) const {
    return std::chrono::nanoseconds(since(budget_.stages_again_ns(event), monotonic_ns()));
}

std::chrono::nanoseconds OverheadWatch::history_again_in() const {
    return until_back(budget_.history_again_ns());
}

std::chrono::nanoseconds OverheadWatch::times_again_in() const {
    return until_back(budget_.times_again_ns());
}

std::vector<std::string> OverheadWatch::shed_now() const {
    std::vector<std::string> sentences;
    if (monitor_ == nullptr) return sentences;
    if (budget_.history_again_ns() != 0)
        sentences.emplace_back("the time before a breach is not kept");
    if (budget_.times_again_ns() != 0)
        sentences.emplace_back("the time of runs is not broken down");
    for (const EventStatus& event : monitor_->status()) {
        if (event.shed)
            sentences.push_back("event " + event.name + " is not watched: " + event.problem);
        if (event.stages_shed) sentences.push_back("event " + event.name + " has no stages");
        if (event.stacks_shed)
            sentences.push_back("event " + event.name + " has no stacks at its markers");
    }
    return sentences;
}

}  // namespace lagtrap::daemon
