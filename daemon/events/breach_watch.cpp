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
#include "daemon/events/look_times.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds first_sweep_after = 1s;
constexpr std::size_t runs_of_sweep_part = 512;

}  // namespace

BreachWatch::BreachWatch(const settings::Settings& settings, MonitorPrograms& programs,
                         RunTable table, Report report)
    : events_(settings.events),
      programs_(programs),
      report_(std::move(report)),
      runs_(std::move(table)),
      early_(settings),
      beliefs_(settings.events.size()),
      thresholds_(settings.events),
      smallest_threshold_ns_(smallest_deadline_threshold_ns(settings.events, thresholds_)),
      look_timer_(context_),
      sweep_timer_(context_),
      notices_descriptor_(context_) {}

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
        await_sweep(first_sweep_after);
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
        report_(AbortedRuns{std::move(aborted)});
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
            report_(breach);
        }
    }
    return 0;
}

bool BreachWatch::believes(std::uint32_t event, std::uint64_t now_ns) const {
    return beliefs_.believes(
        event, now_ns, [this](std::uint32_t of) { return programs_.counters(of); },
        [this](std::uint32_t of) { return runs_.count_swept(of); });
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
    take_early(seen.early_pid, now_ns);
    not_before_ns_ = next_pass_ns(now_ns, monotonic_ns());
    return next_look_ns(seen, {now_ns, smallest_threshold_ns_, not_before_ns_, early_.is_on(),
                               early_.look_interval_ns(), early_.points_ns(), begun});
}

void BreachWatch::take_early(std::uint32_t pid, std::uint64_t now_ns) {
    const EarlyWatch::Action action = early_.take_look(pid, breach_wanted_.load(), now_ns);
    if (action == EarlyWatch::Action::Begin) report_(EarlyRun{pid});
    if (action == EarlyWatch::Action::Discard) report_(EarlyRunsOver{});
}

void BreachWatch::tell(const OpenRuns::Look& seen) {
    if (seen.overdue.empty() || !breach_wanted_.exchange(false)) return;
    __atomic_store_n(&programs_.watch()->breach_wanted, 0, __ATOMIC_RELEASE);
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
        await_sweep(pause_after_sweep(std::chrono::steady_clock::now() - began, done));
    });
}

}  // namespace lagtrap::daemon
