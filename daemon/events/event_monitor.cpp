#include "daemon/events/event_monitor.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/clock.hpp"
#include "daemon/events/event_totals.hpp"
#include "daemon/events/run_takeover.hpp"
#include "daemon/kernel/context_switches.hpp"

namespace lagtrap::daemon {
namespace {

// Cost of one switch and its wakeup in programs that ignore the thread (docs/performance.md).
constexpr std::uint64_t time_cost_ns = 65;

}  // namespace

EventMonitor::EventMonitor(const settings::Settings& settings, Options options)
    : events_(settings.events),
      disabled_(settings.events.size()),
      options_(std::move(options)),
      weights_(std::make_shared<RunWeights>(settings.events.size())),
      thresholds_(std::make_shared<EventThresholds>(settings.events)) {}

Result<std::unique_ptr<EventMonitor>> EventMonitor::create(const settings::Settings& settings,
                                                           const UnwindStore& store,
                                                           const TimedThreads& threads,
                                                           Options options) {
    const std::vector<settings::Event>& events = settings.events;
    std::unique_ptr<EventMonitor> self(new EventMonitor(settings, std::move(options)));
    TRY_ASSIGN(self->programs_, MonitorPrograms::load(settings, store, threads));
    self->attachments_ = std::make_unique<MarkerAttachments>(*self->programs_);
    TRY_ASSIGN(self->breaches_,
               BreachWatch::create(settings, *self->programs_, self->options_.report));
    self->follow_groups();
    self->arming_ = std::make_unique<EventArming>(
        events, *self->programs_, *self->attachments_, *self->breaches_,
        EventArming::Options{self->options_.report, self->options_.takes_over,
                             self->options_.mapped_files, self->options_.inspector,
                             self->options_.names});
    return self;
}

void EventMonitor::follow_groups() {
    if (!options_.names ||
        std::all_of(events_.begin(), events_.end(),
                    [](const settings::Event& event) { return event.scope.groups.empty(); }))
        return;
    const auto hierarchy = find_group_hierarchy();
    if (!hierarchy) {
        groups_problem_ = hierarchy.error().message;
        return;
    }
    groups_ = std::make_unique<GroupScopes>(
        events_, *options_.names,
        [this](auto event, auto group, bool wanted) {
            return programs_->scope_group(event, group, wanted);
        },
        *hierarchy);
}

EventMonitor::~EventMonitor() { detach(); }

void EventMonitor::detach() {
    if (breaches_) breaches_->stop();
    if (arming_) arming_->stop();
    if (attachments_) attachments_->detach_all();
}

std::vector<EventStatus> EventMonitor::status() const {
    std::vector<EventStatus> result;
    auto open = breaches_->count();
    for (std::uint32_t index = 0; index < events_.size(); ++index) {
        EventStatus status;
        status.name = events_[index].name;
        status.threshold_ns = thresholds_->of_ns(index);
        const ArmingPolicy::State state = arming_->state(index);
        status.problem = state.problem;
        status.arming = state.arming;
        status.disabled = state.disabled;
        status.counted = state.counted;
        status.armed = state.armed();
        status.copies = arming_->copies_of(index);
        if (!events_[index].scope.groups.empty()) {
            status.groups = groups_ ? groups_->of(index) : ScopedGroups{};
            if (!groups_problem_.empty()) status.groups->problem = groups_problem_;
        }
        const DisabledParts::Parts disabled = disabled_.of(index);
        status.stacks_disabled = disabled.stacks;
        status.stages_disabled = disabled.stages;
        status.open = open[index];
        auto counters = programs_->counters(index);
        if (counters) status.counters = *counters;
        status.pairing = pairing_findings(status.counters, status.open);
        for (const auto& plan : attachments_->plans_of(index))
            if (auto finding = marker_finding(*plan)) {
                status.pairing.push_back(std::move(*finding));
                break;
            }
        add_open_runs(status, earlier_.reported_before(index));
        status.by_goroutine = programs_->pairs_by_goroutine(index);
        status.records_runs = events_[index].record == settings::RecordMode::Runs;
        if (auto runs = programs_->run_counters(index); runs) status.runs = *runs;
        const EventTotals earlier = earlier_.of(status.name);
        status.counters.add(earlier.counters);
        status.runs.add(earlier.runs);
        result.push_back(std::move(status));
    }
    return result;
}

EventMonitor::Progress EventMonitor::progress() const {
    return {events_.size() - arming_->count_arming(), events_.size()};
}

std::map<std::uint32_t, std::uint32_t> EventMonitor::shared_events(
    const EventMonitor& before) const {
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (std::uint32_t old = 0; old < before.events_.size(); ++old) {
        const auto same =
            std::find_if(events_.begin(), events_.end(), [&](const settings::Event& event) {
                return make_the_same_runs(event, before.events_[old]);
            });
        if (same == events_.end()) continue;
        const auto number = static_cast<std::uint32_t>(same - events_.begin());
        const auto files = arming_->identities_of(number),
                   files_before = before.arming_->identities_of(old);
        const bool same_files =
            std::equal(files.begin(), files.end(), files_before.begin(), files_before.end(),
                       [](const auto& one, const auto& other) { return one.same_file(other); });
        if (same_files && arming_->state(number).armed()) numbers[old] = number;
    }
    return numbers;
}

// The few microseconds during which both sets of programs count are counted here.
std::uint64_t EventMonitor::take_over(EventMonitor& before) {
    const auto table_of = [](const MonitorPrograms& programs) {
        return RunTakeover::Table{programs.tags_fd(), programs.slots_fd(), programs.open_buckets()};
    };
    auto takeover = RunTakeover::between(table_of(*before.programs_), table_of(*programs_));
    const auto numbers =
        takeover ? shared_events(before) : std::map<std::uint32_t, std::uint32_t>{};
    before.breaches_
        ->sweep();  // this event monitor cannot know of programs started by exec before now
    earlier_ = EarlierTotals(before.all_totals());
    arming_->let_hits_count();
    if (takeover) takeover->copy(numbers, before.events_);
    before.arming_->hold_hits();
    const std::uint64_t reported_until_ns = monotonic_ns();
    // Running programs finish before membarrier returns.
    (void)::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    if (!takeover) return reported_until_ns;
    takeover->settle();
    earlier_.take_out_open_runs(takeover->counts(), before.events_, numbers);
    breaches_->look_soon();
    return reported_until_ns;
}

std::map<std::string, EventCounters> EventMonitor::all_counters() const {
    std::map<std::string, EventCounters> counters;
    for (const auto& [name, totals] : all_totals()) counters[name] = totals.counters;
    return counters;
}

std::map<std::string, EventTotals> EventMonitor::all_totals() const {
    std::map<std::string, EventTotals> totals;
    for (const EventStatus& status : this->status()) {
        totals[status.name] = {status.counters, status.runs};
    }
    return totals;
}

std::vector<EventMonitor::EventHits> EventMonitor::hits() const {
    std::vector<EventHits> result(events_.size());
    for (std::uint32_t index = 0; index < events_.size(); ++index) {
        const auto counters = programs_->counters(index);
        if (!counters) continue;
        result[index] = hits_of(*counters, attachments_->probe_kinds(index));
    }
    return result;
}

SeenParties EventMonitor::seen_parties() const {
    SeenParties seen;
    for (std::uint32_t index = 0; index < events_.size(); ++index)
        if (const auto counters = programs_->counters(index); counters) seen.add(counters->seen);
    return seen;
}

void EventMonitor::set_parties_without_recordings(const std::set<Party>& parties) {
    programs_->parties().set_without_recordings(parties);
    breaches_->set_parties_without_recordings(parties);
}

void EventMonitor::set_events_without_recordings(const std::set<std::uint32_t>& events) {
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        (void)programs_->let_record(event, !events.contains(event));
    breaches_->set_events_without_recordings(events);
}

Status EventMonitor::limit(std::uint32_t event, const HitParty& who, bool wanted) {
    TRY(programs_->limit(event, who, wanted));
    if (wanted) breaches_->forget_runs_of(event, who);
    return success();
}

Status EventMonitor::set_threshold(std::uint32_t event, std::chrono::nanoseconds threshold) {
    TRY(programs_->set_threshold(event, threshold));
    thresholds_->set(event, threshold);
    breaches_->set_threshold(event, threshold);
    return success();
}

Status EventMonitor::count_times(bool wanted) { return programs_->count_times(wanted); }

std::uint64_t EventMonitor::times_cost_ns() const {
    return programs_->counts_times() ? context_switches() * time_cost_ns : 0;
}

Status EventMonitor::take_stacks(std::uint32_t event, bool wanted) {
    TRY(programs_->take_stacks(event, wanted));
    disabled_.set_stacks(event, !wanted);
    return success();
}

Status EventMonitor::watch_stages(std::uint32_t event, bool wanted) {
    TRY(arming_->watch_stages(event, wanted));
    disabled_.set_stages(event, !wanted);
    return success();
}

}  // namespace lagtrap::daemon
