#include "daemon/events/breach_watch.hpp"

#include <bpf/libbpf.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "core/clock.hpp"
#include "daemon/events/goroutine_looks.hpp"
#include "daemon/events/pairing.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// Minimum time between two checks, so that an event with a threshold of microseconds cannot keep
// the event monitor busy. A deadline may be noticed 2 ms late, so this is soon enough.
constexpr std::uint64_t min_look_interval_ns = 1'000'000;
// Passes over the table and sweeps, which check the thread of every open run, use at most a
// hundredth of the time each. Meanwhile others wait for the table, so a sweep does part of it at a
// time.
constexpr std::uint64_t rest_factor = 100;
constexpr std::uint64_t max_look_interval_ns = 20'000'000;
constexpr std::chrono::nanoseconds sweep_interval = 1s;
constexpr std::size_t runs_of_sweep_part = 512;
constexpr std::uint64_t belief_lasts_ns = 1'000'000'000;

std::uint64_t smallest_deadline_threshold_ns(const std::vector<settings::Event>& events,
                                             const EventThresholds& thresholds) {
    std::uint64_t smallest = LAGTRAP_NEVER_NS;
    for (std::uint32_t event = 0; event < events.size(); ++event)
        if (events[event].breach == settings::BreachMode::Deadline)
            smallest = std::min(smallest, thresholds.of_ns(event));
    return smallest;
}

}  // namespace

BreachWatch::BreachWatch(const settings::Settings& settings, MonitorPrograms& programs,
                         RunTable table, Options options)
    : events_(settings.events),
      programs_(programs),
      options_(std::move(options)),
      runs_(std::move(table)),
      early_(settings, options_.early),
      beliefs_(settings.events.size()),
      thresholds_(settings.events),
      smallest_threshold_ns_(smallest_deadline_threshold_ns(settings.events, thresholds_)),
      look_timer_(context_),
      sweep_timer_(context_),
      notices_descriptor_(context_) {}

Result<std::unique_ptr<BreachWatch>> BreachWatch::create(const settings::Settings& settings,
                                                         MonitorPrograms& programs,
                                                         Options options) {
    TRY_ASSIGN(RunTable table,
               RunTable::map(programs.tags_fd(), programs.slots_fd(), programs.open_buckets()));
    std::unique_ptr<BreachWatch> self(
        new BreachWatch(settings, programs, std::move(table), std::move(options)));
    if (programs.counts_times())
        TRY(self->so_far_.map(programs.timed_sets_fd(), programs.thread_times_fd()));
    self->runs_.follow_programs(programs.program_starts_fd());
    self->want_looks();
    TRY(self->open_notices());
    return self;
}

BreachWatch::~BreachWatch() {
    stop();
    if (notices_) ring_buffer__free(notices_);
    (void)notices_descriptor_.release();  // the ring closes it
}

void BreachWatch::start() {
    if (GoroutineLooks* const looks = goroutine_looks()) looks->tell(this, [this] { look_soon(); });
    thread_ = std::thread([this] {
        // Highest priority, to notice deadlines in time even on a busy machine. Without
        // CAP_SYS_NICE they may be noticed late.
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), -20);
        const auto work = boost::asio::make_work_guard(context_);
        await_notices();
        await_sweep(sweep_interval);
        look();
        context_.run();
    });
}

void BreachWatch::stop() {
    if (GoroutineLooks* const looks = goroutine_looks()) looks->stop_reporting(this);
    if (!thread_.joinable()) return;
    context_.stop();
    thread_.join();
}

void BreachWatch::look_soon() {
    boost::asio::post(context_, [this] { look(); });
}

void BreachWatch::want_breach(bool wanted) {
    breach_wanted_.store(wanted);
    __atomic_store_n(&programs_.watch()->breach_wanted, wanted ? 1U : 0U, __ATOMIC_RELEASE);
    if (wanted) look_soon();
}

void BreachWatch::record_runs(Recorded recorded) {
    recorded_.store(recorded);
    __atomic_store_n(&programs_.watch()->recording, recorded == Recorded::No ? 0U : 1U,
                     __ATOMIC_RELEASE);
}

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
        smallest_threshold_ns_ = smallest_deadline_threshold_ns(events_, thresholds_);
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
        options_.on_aborted(std::move(aborted));
}

Status BreachWatch::open_notices() {
    const auto callback = [](void* self, void* data, std::size_t bytes) {
        return static_cast<BreachWatch*>(self)->take_notice(
            static_cast<const lagtrap_record*>(data), bytes);
    };
    notices_ = ring_buffer__new(programs_.notices_fd(), callback, this, nullptr);
    if (!notices_) return libbpf_error("map the ring of notices", -errno);
    notices_descriptor_.assign(ring_buffer__epoll_fd(notices_));
    return success();
}

void BreachWatch::await_notices() {
    notices_descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                   [this](const auto& failure) {
                                       if (failure) return;
                                       ring_buffer__consume(notices_);
                                       await_notices();
                                   });
}

int BreachWatch::take_notice(const lagtrap_record* record, std::size_t bytes) {
    if (record->type == LAGTRAP_RECORD_WAKE) {
        if (const std::uint64_t now_ns = monotonic_ns(); now_ns >= not_before_ns_)
            look();
        else
            schedule_look(not_before_ns_);
    } else if (record->type == LAGTRAP_RECORD_BREACH && bytes >= offsetof(lagtrap_run, stages)) {
        Breach breach;
        std::memcpy(&breach.run, record, std::min(bytes, sizeof(breach.run)));
        breach.noticed_ns = monotonic_ns();
        if (breach_wanted_.exchange(false)) {
            const std::lock_guard lock(mutex_);
            early_.take_breach(breach.noticed_ns);
            options_.on_breach(breach);
        }
    }
    return 0;
}

bool BreachWatch::believes(std::uint32_t event, std::uint64_t now_ns) const {
    if (event >= beliefs_.size()) return true;
    Belief& belief = beliefs_[event];
    if (now_ns < belief.until_ns) return belief.believed;
    const auto counters = programs_.counters(event);
    // Before the first end there is no experience, so a judgement of the first runs is valid for
    // one check only.
    const bool experienced = counters && counters->ends().hits > 0;
    belief = {!counters || believes_deadlines(*counters, runs_.count_swept(event)),
              now_ns + (experienced ? belief_lasts_ns : 1)};
    return belief.believed;
}

// One pass over the open runs. Reports the first overdue run; returns when the next pass is due.
std::uint64_t BreachWatch::look_once(std::uint64_t now_ns) {
    lagtrap_watch* const watch = programs_.watch();
    const bool begun = __atomic_exchange_n(&watch->begun_since_look, 0, __ATOMIC_ACQ_REL) != 0;
    const std::lock_guard lock(mutex_);
    // A run that becomes overdue during a recording is part of it. One that becomes overdue during
    // the cool-down is reported afterwards.
    using Tell = OpenRuns::Tell;
    const bool recorded = recorded_.load() == Recorded::Yes;
    const bool wanted = breach_wanted_.load();
    const Tell reported = recorded ? Tell::Everything : wanted ? Tell::WhoMayRecord : Tell::Nothing;
    const auto believed = [&](std::uint32_t event) { return believes(event, now_ns); };
    learn(now_ns);
    const bool all = __atomic_exchange_n(&watch->look_at_all, 0, __ATOMIC_ACQ_REL) != 0;
    const OpenRuns::Look seen =
        runs_.look({now_ns, events_, reported, believed, early_.points_ns(), all});
    report_aborted();
    tell(seen);
    early_.take_look(seen.early_pid, breach_wanted_.load(), now_ns);
    const std::uint64_t looked_ns = monotonic_ns();
    not_before_ns_ = looked_ns + std::clamp((looked_ns - now_ns) * rest_factor,
                                            min_look_interval_ns, max_look_interval_ns);
    if (seen.visited == 0 && seen.next_due_ns == LAGTRAP_NEVER_NS && !begun && !early_.is_on())
        return LAGTRAP_NEVER_NS;
    return next_look_ns(seen, now_ns);
}

void BreachWatch::tell(const OpenRuns::Look& seen) {
    if (seen.overdue.empty() || !breach_wanted_.exchange(false)) return;
    __atomic_store_n(&programs_.watch()->breach_wanted, 0, __ATOMIC_RELEASE);
    std::vector<lagtrap_run> first{
        *std::min_element(seen.overdue.begin(), seen.overdue.end(),
                          [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; })};
    fill_names(first);
    const std::uint64_t noticed_ns = monotonic_ns();
    early_.take_breach(noticed_ns);
    options_.on_breach(Breach{first.front(), true, noticed_ns});
}

// A run that begins from now on is not overdue before the smallest threshold, nor early before the
// smallest early point, has passed.
std::uint64_t BreachWatch::next_look_ns(const OpenRuns::Look& seen, std::uint64_t now_ns) const {
    std::uint64_t next_ns = std::min(seen.earliest_deadline_ns, seen.next_due_ns);
    if (smallest_threshold_ns_ != LAGTRAP_NEVER_NS)
        next_ns = std::min(next_ns, now_ns + smallest_threshold_ns_);
    std::uint64_t next_early_ns = early_.is_on() ? now_ns : seen.next_early_ns;
    for (const std::uint64_t point_ns : early_.points_ns())
        if (point_ns != LAGTRAP_NEVER_NS)
            next_early_ns = std::min(next_early_ns, now_ns + point_ns);
    if (next_early_ns != LAGTRAP_NEVER_NS)
        next_ns = std::min(next_ns, std::max(next_early_ns, now_ns + early_.look_interval_ns()));
    return next_ns == LAGTRAP_NEVER_NS ? next_ns : std::max(next_ns, not_before_ns_);
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
        (void)programs_.look_after(event,
                                   std::max(early_.points_ns()[event], min_look_interval_ns));
    __atomic_store_n(&programs_.watch()->look_at_all, 1, __ATOMIC_RELEASE);
}

// A begin between the pass and the publication of the next check saw the old time and may not have
// requested a check. So check again after publishing, and use the earlier time.
void BreachWatch::look() {
    lagtrap_watch* const watch = programs_.watch();
    std::uint64_t next_ns = look_once(monotonic_ns());
    for (;;) {
        __atomic_store_n(&watch->next_look_ns, next_ns, __ATOMIC_SEQ_CST);
        const bool begun = __atomic_load_n(&watch->begun_since_look, __ATOMIC_SEQ_CST) != 0;
        if (!begun) break;
        const std::uint64_t again_ns = look_once(monotonic_ns());
        if (again_ns >= next_ns) break;
        next_ns = again_ns;
    }
    schedule_look(next_ns);
}

void BreachWatch::schedule_look(std::uint64_t at_ns) {
    look_timer_.cancel();
    if (at_ns == LAGTRAP_NEVER_NS) return;
    // steady_clock is CLOCK_MONOTONIC, the clock of the BPF programs.
    look_timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at_ns)));
    look_timer_.async_wait([this](const auto& failure) {
        if (!failure) look();
    });
}

void BreachWatch::await_sweep(std::chrono::nanoseconds after) {
    sweep_timer_.expires_after(after);
    sweep_timer_.async_wait([this](const auto& failure) {
        if (failure) return;
        const auto began = std::chrono::steady_clock::now();
        const bool done = sweep_part();
        const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
        await_sweep(
            std::max<std::chrono::nanoseconds>(rest_factor * took, done ? sweep_interval : 1ms));
    });
}

}  // namespace lagtrap::daemon
