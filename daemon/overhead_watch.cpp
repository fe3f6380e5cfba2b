#include "daemon/overhead_watch.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "core/clock.hpp"
#include "core/duration.hpp"

namespace lagtrap::daemon {
namespace {

// So few hits between two looks cost nothing that matters, whatever one costs.
constexpr std::uint64_t few_hits = 1000;

std::uint64_t since(std::uint64_t now, std::uint64_t before) { return now > before ? now - before : 0; }

}  // namespace

OverheadWatch::OverheadWatch(boost::asio::io_context& context, Options options)
    : timer_(context), options_(std::move(options)), probes_(measure_probe_costs()) {}

void OverheadWatch::use(const settings::Budget& budget, Listener& listener) {
    listener_ = &listener;
    budget_ = OverheadBudget(budget, listener.events().size());
    programs_.assign(listener.events().size(), {});
    usual_ = {};
    before_ = count();
    await_look();
}

void OverheadWatch::stop() {
    timer_.cancel();
    listener_ = nullptr;
}

void OverheadWatch::await_look() {
    timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(budget_.budget().interval));
    timer_.async_wait([this](const auto& failure) {
        if (failure || listener_ == nullptr) return;
        look();
        await_look();
    });
}

OverheadWatch::Counted OverheadWatch::count() const {
    return {monotonic_ns(), daemon_cpu_ns(), options_.recordings(), listener_->hits()};
}

WatchUse OverheadWatch::use_between(const Counted& before, const Counted& now) {
    WatchUse use;
    use.elapsed_ns = since(now.at_ns, before.at_ns);
    const bool recorded =
        before.recordings.now || now.recordings.now || now.recordings.begun != before.recordings.begun;
    use.own_cpu_ns = recorded ? 0 : since(now.own_cpu_ns, before.own_cpu_ns);
    use.events.resize(now.hits.size());
    use.exact = true;
    std::uint64_t hits = 0, programs_ns = 0;
    for (std::size_t event = 0; event < now.hits.size(); ++event) {
        const Listener::EventHits last = event < before.hits.size() ? before.hits[event] : Listener::EventHits{};
        EventUse& one = use.events[event];
        one.hits = since(now.hits[event].hits, last.hits);
        one.stack_ns = since(now.hits[event].stack_ns, last.stack_ns);
        one.armed = !now.hits[event].kinds.empty();
        CostCounts costs{};
        for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = since(now.hits[event].costs[i], last.costs[i]);
        if (const auto measured = program_cost_ns(costs)) programs_[event] = {*measured, true};
        one.probe_ns = one.hits * (probes_.mean(now.hits[event].kinds) + programs_[event].ns);
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

void OverheadWatch::take(const BudgetStep& step) {
    const std::string& name = listener_->events()[step.event].name;
    const std::string again = format_duration(again_in(step.event));
    switch (step.action) {
        case BudgetStep::Action::Detach:
            listener_->shed(step.event, "shed: " + step.reason);
            return options_.warn(
                fmt::format("event {} is shed: {}; it is tried again in {}", name, step.reason, again));
        case BudgetStep::Action::DropStacks:
            if (const auto done = listener_->take_stacks(step.event, false); !done)
                return options_.warn(done.error().message);
            return options_.warn(fmt::format("event {} has no stacks at its markers: {}; they are tried again in {}",
                                             name, step.reason, again));
        case BudgetStep::Action::Attach:
            if (const auto armed = listener_->arm_again(step.event); !armed)
                return options_.warn("event " + name + " stays shed: " + armed.error().message);
            return options_.inform("event " + name + " is armed again");
        case BudgetStep::Action::TakeStacks:
            if (const auto done = listener_->take_stacks(step.event, true); !done)
                return options_.warn(done.error().message);
            return options_.inform("event " + name + " has stacks at its markers again");
    }
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

std::vector<std::string> OverheadWatch::shed_now() const {
    std::vector<std::string> sentences;
    if (listener_ == nullptr) return sentences;
    for (const EventStatus& event : listener_->status()) {
        if (event.shed) sentences.push_back("event " + event.name + " is not watched: " + event.problem);
        if (event.stacks_shed) sentences.push_back("event " + event.name + " has no stacks at its markers");
    }
    return sentences;
}

}  // namespace lagtrap::daemon
