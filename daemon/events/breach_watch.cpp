#include "daemon/events/breach_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "core/clock.hpp"
#include "daemon/events/goroutine_looks.hpp"
#include "daemon/events/look_times.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t runs_of_sweep_part = 512;

}  // namespace

BreachWatch::BreachWatch(const settings::Settings& settings, MonitorPrograms& programs,
                         RunTable table, Report report)
    : events_(settings.events),
      programs_(programs),
      report_(std::move(report)),
      signals_(*programs.watch()),
      runs_(std::move(table)),
      early_(settings),
      beliefs_(settings.events.size()),
      thresholds_(events_),
      loop_(*this) {}

Result<std::unique_ptr<BreachWatch>> BreachWatch::create(const settings::Settings& settings,
                                                         MonitorPrograms& programs, Report report) {
    TRY_ASSIGN(RunTable table,
               RunTable::map(programs.tags_fd(), programs.slots_fd(), programs.open_buckets()));
    std::unique_ptr<BreachWatch> self(
        new BreachWatch(settings, programs, std::move(table), std::move(report)));
    if (programs.counts_times())
        TRY(self->so_far_.map(programs.timed_sets_fd(), programs.thread_times_fd()));
    self->runs_.follow_programs(programs.program_starts_fd());
    self->want_looks();
    TRY(self->loop_.map_notices(programs.notices_fd()));
    return self;
}

BreachWatch::~BreachWatch() { stop(); }

void BreachWatch::start() {
    if (GoroutineLooks* const looks = goroutine_looks()) looks->tell(this, [this] { look_soon(); });
    loop_.start();
}

void BreachWatch::stop() {
    if (GoroutineLooks* const looks = goroutine_looks()) looks->stop_reporting(this);
    loop_.stop();
}

void BreachWatch::want_breach(bool wanted) {
    signals_.want_breach(wanted);
    if (wanted) look_soon();
}

void BreachWatch::record_runs(Recorded recorded) { signals_.record_runs(recorded); }

void BreachWatch::outgrow_early() {
    const std::lock_guard lock(mutex_);
    early_.outgrow(monotonic_ns());
}

BreachWatch::Early BreachWatch::early() const {
    const std::lock_guard lock(mutex_);
    return {early_.points_ns(), early_.counts(monotonic_ns())};
}

OpenRuns::Snapshot BreachWatch::open_runs() const {
    OpenRuns::Snapshot open;
    {
        const std::lock_guard lock(mutex_);
        const std::uint64_t now_ns = monotonic_ns();
        open = runs_.snapshot(
            now_ns, [&](std::uint32_t event) { return believes(event, now_ns); },
            recorded_runs_limit);
    }
    fill_names(open.runs);
    const std::lock_guard lock(mutex_);
    for (const OpenRuns::LeftDelay& left : runs_.left_delays()) open.runs.push_back(left.run);
    return open;
}

void BreachWatch::forget_left_delays() {
    const std::lock_guard lock(mutex_);
    runs_.forget_left_delays();
}

std::vector<lagtrap_run_so_far> BreachWatch::runs_so_far() const {
    const std::lock_guard lock(mutex_);
    return so_far_.of(runs_.table(), events_, recorded_runs_limit);
}

std::vector<lagtrap_trace_text> BreachWatch::trace_texts() const {
    const std::lock_guard lock(mutex_);
    auto texts = daemon::trace_texts(runs_.table(), events_, recorded_runs_limit);
    for (const OpenRuns::LeftDelay& left : runs_.left_delays())
        if (left.run.event < events_.size() && events_[left.run.event].trace_id)
            texts.push_back(left.text);
    return texts;
}

bool BreachWatch::is_open(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns) const {
    const std::lock_guard lock(mutex_);
    return runs_.is_open(event, tid, begin_ns);
}

std::map<std::uint32_t, OpenRuns::Counts> BreachWatch::count() const {
    const std::lock_guard lock(mutex_);
    return runs_.count(monotonic_ns());
}

void BreachWatch::forget_runs(std::uint32_t event) {
    const std::lock_guard lock(mutex_);
    runs_.drop(event, events_);
}

void BreachWatch::forget_runs_of(std::uint32_t event, const HitParty& who) {
    const std::lock_guard lock(mutex_);
    runs_.leave_out(event, who, events_);
}

void BreachWatch::forget_stages(std::uint32_t event) {
    const std::lock_guard lock(mutex_);
    runs_.leave_stages(event);
}

void BreachWatch::set_parties_without_recordings(const std::set<Party>& parties) {
    const std::lock_guard lock(mutex_);
    runs_.set_parties_without_recordings(parties);
}

void BreachWatch::set_events_without_recordings(const std::set<std::uint32_t>& events) {
    const std::lock_guard lock(mutex_);
    runs_.set_events_without_recordings(events);
}

void BreachWatch::set_threshold(std::uint32_t event, std::chrono::nanoseconds threshold) {
    {
        const std::lock_guard lock(mutex_);
        thresholds_.set(event, threshold);
        early_.set_threshold(event, threshold);
        want_looks();
    }
    look_soon();
}

void BreachWatch::sweep() {
    const std::lock_guard lock(mutex_);
    runs_.sweep(monotonic_ns(), events_);
    report_aborted();
}

bool BreachWatch::sweep_part() {
    const std::lock_guard lock(mutex_);
    const bool done = runs_.sweep_part(monotonic_ns(), events_, runs_of_sweep_part);
    report_aborted();
    return done;
}

void BreachWatch::report_aborted() {
    if (auto aborted = runs_.take_aborted(); !aborted.empty())
        report_(AbortedRuns{std::move(aborted)});
}

void BreachWatch::take_notice(const lagtrap_record* record, std::size_t bytes) {
    if (record->type == LAGTRAP_RECORD_WAKE) {
        if (const std::uint64_t now_ns = monotonic_ns(); now_ns >= not_before_ns_)
            look();
        else
            loop_.look_at(not_before_ns_);
    } else if (record->type == LAGTRAP_RECORD_BREACH && bytes >= offsetof(lagtrap_run, stages)) {
        Breach breach;
        std::memcpy(&breach.run, record, std::min(bytes, sizeof(breach.run)));
        breach.noticed_ns = monotonic_ns();
        if (signals_.take_wanted()) {
            const std::lock_guard lock(mutex_);
            early_.take_breach(breach.noticed_ns);
            report_(breach);
        }
    }
}

bool BreachWatch::believes(std::uint32_t event, std::uint64_t now_ns) const {
    return beliefs_.believes(
        event, now_ns, [this](std::uint32_t of) { return programs_.counters(of); },
        [this](std::uint32_t of) { return runs_.count_swept(of); });
}

// One pass over the open runs. Reports the first overdue run; returns when the next pass is due.
std::uint64_t BreachWatch::look_once(std::uint64_t now_ns) {
    const bool begun = signals_.take_begun();
    const std::lock_guard lock(mutex_);
    // A run that becomes overdue during a recording is part of it. One that becomes overdue during
    // the cool-down is reported afterwards.
    using Tell = OpenRuns::Tell;
    const bool recorded = signals_.recorded() == Recorded::Yes;
    const bool wanted = signals_.wants_breach();
    const Tell reported = recorded ? Tell::Everything : wanted ? Tell::WhoMayRecord : Tell::Nothing;
    const auto believed = [&](std::uint32_t event) { return believes(event, now_ns); };
    learn(now_ns);
    const bool all = signals_.take_look_at_all();
    const OpenRuns::Look seen =
        runs_.look({now_ns, events_, reported, believed, early_.points_ns(), all});
    report_aborted();
    tell(seen);
    take_early(seen.early_pid, now_ns);
    not_before_ns_ = next_pass_ns(now_ns, monotonic_ns());
    return next_look_ns(seen, {now_ns, thresholds_.smallest_ns(), not_before_ns_, early_.is_on(),
                               early_.look_interval_ns(), early_.points_ns(), begun});
}

void BreachWatch::take_early(std::uint32_t pid, std::uint64_t now_ns) {
    const EarlyWatch::Action action = early_.take_look(pid, signals_.wants_breach(), now_ns);
    if (action == EarlyWatch::Action::Begin) report_(EarlyRun{pid});
    if (action == EarlyWatch::Action::Discard) report_(EarlyRunsOver{});
}

void BreachWatch::tell(const OpenRuns::Look& seen) {
    if (seen.overdue.empty() || !signals_.take_wanted()) return;
    signals_.stop_reports();
    std::vector<lagtrap_run> first{longest_overdue(seen.overdue)};
    fill_names(first);
    const std::uint64_t noticed_ns = monotonic_ns();
    early_.take_breach(noticed_ns);
    report_(Breach{first.front(), true, noticed_ns});
}

void BreachWatch::learn(std::uint64_t now_ns) {
    const auto counts_of = [this](std::uint32_t event) -> std::optional<EarlyPoints::Histogram> {
        const auto counters = programs_.counters(event);
        return counters ? std::optional(counters->histogram) : std::nullopt;
    };
    if (early_.learn(now_ns, counts_of)) want_looks();
}

// If an event's age cannot be set, its runs are checked together with others.
void BreachWatch::want_looks() {
    for (std::uint32_t event = 0; event < events_.size(); ++event)
        (void)programs_.look_after(event, age_to_look_ns(early_.points_ns()[event]));
    signals_.want_look_at_all();
}

// A begin between the pass and the publication of the next check saw the old time and may not have
// requested a check. So check again after publishing, and use the earlier time.
void BreachWatch::look() {
    std::uint64_t next_ns = look_once(monotonic_ns());
    for (;;) {
        signals_.publish_next_look(next_ns);
        if (!signals_.has_begun()) break;
        const std::uint64_t again_ns = look_once(monotonic_ns());
        if (again_ns >= next_ns) break;
        next_ns = again_ns;
    }
    loop_.look_at(next_ns);
}

}  // namespace lagtrap::daemon
