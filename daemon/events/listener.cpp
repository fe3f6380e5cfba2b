#include "daemon/events/listener.hpp"

#include <bpf/libbpf.h>
#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "core/clock.hpp"
#include "daemon/events/open_runs.hpp"
#include "daemon/kernel/context_switches.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// No look comes sooner than this after the last one: an event with a threshold of microseconds shall not make
// the listener spin. Within the 2 ms that a deadline may be noticed late.
constexpr std::uint64_t shortest_look_interval_ns = 1'000'000;
// A sweep takes a hundredth of the time at most, for each open run's thread is asked for.
constexpr std::chrono::nanoseconds shortest_sweep_interval = 1s, longest_sweep_interval = 10s;
constexpr auto sweep_rest = 100;
constexpr std::uint64_t belief_lasts_ns = 1'000'000'000;
// Of a switch and its waking, in programs that pass over other threads (docs/performance.md).
constexpr std::uint64_t time_cost_ns = 65;

std::uint64_t smallest_deadline_threshold_ns(const std::vector<settings::Event>& events) {
    std::uint64_t smallest = LAGTRAP_NEVER_NS;
    for (const settings::Event& event : events)
        if (event.breach == settings::BreachMode::Deadline)
            smallest = std::min(smallest, static_cast<std::uint64_t>(event.threshold.count()));
    return smallest;
}

}  // namespace

// What the thread works on. The mutex guards the mapped table against status requests of other threads.
struct Listener::Loop {
    Loop(Listener& listener, OpenRuns open_runs, const settings::Settings& settings)
        : owner(listener),
          runs(std::move(open_runs)),
          early(settings, listener.options_.early),
          beliefs(listener.events_.size()),
          smallest_threshold_ns(smallest_deadline_threshold_ns(listener.events_)),
          look_timer(context),
          sweep_timer(context),
          notices_descriptor(context) {}

    ~Loop() {
        if (notices) ring_buffer__free(notices);
        (void)notices_descriptor.release();  // the ring closes it
    }

    Status open_notices();
    void await_notices();
    void await_sweep(std::chrono::nanoseconds after = shortest_sweep_interval);
    int take_notice(const lagtrap_record* record, std::size_t bytes);
    void look();
    void tell_aborted() {
        if (auto aborted = runs.take_aborted(); !aborted.empty()) owner.options_.on_aborted(std::move(aborted));
    }
    std::uint64_t look_once(std::uint64_t now_ns);
    void tell(const OpenRuns::Look& seen);
    void learn(std::uint64_t now_ns);
    void want_looks();
    [[nodiscard]] std::uint64_t next_look_ns(const OpenRuns::Look& seen, std::uint64_t now_ns) const;
    // What experience says of the event's overdue runs (believes_deadlines()), asked for once a second.
    [[nodiscard]] bool believes(std::uint32_t event, std::uint64_t now_ns);
    void schedule_look(std::uint64_t at_ns);

    Listener& owner;
    boost::asio::io_context context{1};
    mutable std::mutex mutex;
    OpenRuns runs;
    EarlyWatch early;
    struct Belief {
        bool believed = true;
        std::uint64_t until_ns = 0;
    };
    std::vector<Belief> beliefs;
    std::uint64_t smallest_threshold_ns;
    boost::asio::steady_timer look_timer;
    boost::asio::steady_timer sweep_timer;
    boost::asio::posix::stream_descriptor notices_descriptor;
    ring_buffer* notices = nullptr;
};

Status Listener::Loop::open_notices() {
    const auto callback = [](void* self, void* data, std::size_t bytes) {
        return static_cast<Loop*>(self)->take_notice(static_cast<const lagtrap_record*>(data), bytes);
    };
    notices = ring_buffer__new(owner.programs_->notices_fd(), callback, this, nullptr);
    if (!notices) return libbpf_error("map the ring of notices", -errno);
    notices_descriptor.assign(ring_buffer__epoll_fd(notices));
    return success();
}

void Listener::Loop::await_notices() {
    notices_descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](const auto& failure) {
        if (failure) return;
        ring_buffer__consume(notices);
        await_notices();
    });
}

int Listener::Loop::take_notice(const lagtrap_record* record, std::size_t bytes) {
    if (record->type == LAGTRAP_RECORD_WAKE) {
        look();
    } else if (record->type == LAGTRAP_RECORD_BREACH && bytes >= offsetof(lagtrap_run, stages)) {
        Breach breach;
        std::memcpy(&breach.run, record, std::min(bytes, sizeof(breach.run)));
        breach.noticed_ns = monotonic_ns();
        if (owner.breach_wanted_.exchange(false)) {
            const std::lock_guard lock(mutex);
            early.take_breach(breach.noticed_ns);
            owner.options_.on_breach(breach);
        }
    }
    return 0;
}

bool Listener::Loop::believes(std::uint32_t event, std::uint64_t now_ns) {
    if (event >= beliefs.size()) return true;
    Belief& belief = beliefs[event];
    if (now_ns < belief.until_ns) return belief.believed;
    const auto counters = owner.programs_->counters(event);
    // Before the first end there is no experience yet: what the first runs seemed to say lasts for one look.
    const bool experienced = counters && counters->ends().hits > 0;
    belief = {!counters || believes_deadlines(*counters, runs.count(now_ns)[event]),
              now_ns + (experienced ? belief_lasts_ns : 1)};
    return belief.believed;
}

// One pass over the open runs: reports the first that is overdue; returns when the next pass is due.
std::uint64_t Listener::Loop::look_once(std::uint64_t now_ns) {
    lagtrap_watch* const watch = owner.programs_->watch();
    const bool begun = __atomic_exchange_n(&watch->begun_since_look, 0, __ATOMIC_ACQ_REL) != 0;
    const std::lock_guard lock(mutex);
    // A run that becomes overdue during a recording is in it; one during the cool-down shall be told of after it.
    using Tell = OpenRuns::Tell;
    const bool recorded = owner.recorded_.load() == Recorded::Yes;
    const bool wanted = owner.breach_wanted_.load();
    const Tell told = recorded ? Tell::Everything : wanted ? Tell::WhoMayRecord : Tell::Nothing;
    const auto believed = [&](std::uint32_t event) { return believes(event, now_ns); };
    learn(now_ns);
    const OpenRuns::Look seen = runs.look(now_ns, owner.events_, told, believed, early.points_ns());
    tell_aborted();
    tell(seen);
    early.take_look(seen.early_pid, owner.breach_wanted_.load(), now_ns);
    if (seen.open == 0 && !begun && !early.is_on()) return LAGTRAP_NEVER_NS;
    return next_look_ns(seen, now_ns);
}

void Listener::Loop::tell(const OpenRuns::Look& seen) {
    if (seen.overdue.empty() || !owner.breach_wanted_.exchange(false)) return;
    __atomic_store_n(&owner.programs_->watch()->breach_wanted, 0, __ATOMIC_RELEASE);
    const auto first = std::min_element(seen.overdue.begin(), seen.overdue.end(),
                                        [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
    const std::uint64_t noticed_ns = monotonic_ns();
    early.take_breach(noticed_ns);
    owner.options_.on_breach(Breach{*first, true, noticed_ns});
}

// A run that begins from now on is not overdue before now + the smallest threshold, nor early before the smallest point.
std::uint64_t Listener::Loop::next_look_ns(const OpenRuns::Look& seen, std::uint64_t now_ns) const {
    std::uint64_t next_ns = seen.earliest_deadline_ns;
    if (smallest_threshold_ns != LAGTRAP_NEVER_NS) next_ns = std::min(next_ns, now_ns + smallest_threshold_ns);
    std::uint64_t next_early_ns = early.is_on() ? now_ns : seen.next_early_ns;
    for (const std::uint64_t point_ns : early.points_ns())
        if (point_ns != LAGTRAP_NEVER_NS) next_early_ns = std::min(next_early_ns, now_ns + point_ns);
    if (next_early_ns != LAGTRAP_NEVER_NS)
        next_ns = std::min(next_ns, std::max(next_early_ns, now_ns + early.look_interval_ns()));
    return next_ns == LAGTRAP_NEVER_NS ? next_ns : std::max(next_ns, now_ns + shortest_look_interval_ns);
}

void Listener::Loop::learn(std::uint64_t now_ns) {
    const auto counts_of = [this](std::uint32_t event) -> std::optional<EarlyPoints::Histogram> {
        const auto counters = owner.programs_->counters(event);
        return counters ? std::optional(counters->histogram) : std::nullopt;
    };
    if (early.learn(now_ns, counts_of)) want_looks();
}

// An event whose age cannot be set is looked at when others are.
void Listener::Loop::want_looks() {
    for (std::uint32_t event = 0; event < owner.events_.size(); ++event)
        (void)owner.programs_->look_after(event, early.points_ns()[event]);
}

// A begin between the pass and the publishing of the next look has seen the old time and may not have asked for
// a look; so the table is passed once more afterwards, and the earlier of both times holds.
void Listener::Loop::look() {
    lagtrap_watch* const watch = owner.programs_->watch();
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

void Listener::Loop::schedule_look(std::uint64_t at_ns) {
    look_timer.cancel();
    if (at_ns == LAGTRAP_NEVER_NS) return;
    // steady_clock is CLOCK_MONOTONIC, the clock of the programs.
    look_timer.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at_ns)));
    look_timer.async_wait([this](const auto& failure) {
        if (!failure) look();
    });
}

void Listener::Loop::await_sweep(std::chrono::nanoseconds after) {
    sweep_timer.expires_after(after);
    sweep_timer.async_wait([this](const auto& failure) {
        if (failure) return;
        const auto began = std::chrono::steady_clock::now();
        {
            const std::lock_guard lock(mutex);
            runs.sweep(monotonic_ns(), owner.events_);
            tell_aborted();
        }
        const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
        await_sweep(std::clamp(sweep_rest * took, shortest_sweep_interval, longest_sweep_interval));
    });
}

Listener::Listener(const settings::Settings& settings, Options options)
    : events_(settings.events),
      stacks_shed_(settings.events.size()),
      stages_shed_(settings.events.size()),
      options_(std::move(options)),
      weights_(std::make_shared<RunWeights>(settings.events.size())) {}

Result<std::unique_ptr<Listener>> Listener::create(const settings::Settings& settings, const UnwindStore& store,
                                                   const TimedThreads& threads, Options options) {
    const std::vector<settings::Event>& events = settings.events;
    std::unique_ptr<Listener> self(new Listener(settings, std::move(options)));
    TRY_ASSIGN(self->programs_, ListenerPrograms::load(settings, store, threads));
    TRY_ASSIGN(OpenRuns runs, OpenRuns::map(self->programs_->tags_fd(), self->programs_->slots_fd()));
    if (self->programs_->counts_times())
        TRY(runs.map_times(self->programs_->timed_sets_fd(), self->programs_->thread_times_fd()));
    runs.follow_programs(self->programs_->program_starts_fd());
    self->loop_ = std::make_unique<Loop>(*self, std::move(runs), settings);
    self->loop_->want_looks();
    TRY(self->loop_->open_notices());
    self->follow_groups();
    self->arming_ = std::make_unique<EventArming>(
        events, *self->programs_,
        EventArming::Options{[listener = self.get()](std::uint32_t event) { listener->forget_runs(event); },
                             [listener = self.get()](std::uint32_t event) { listener->forget_stages(event); },
                             self->options_.on_armed, self->options_.on_replaced, self->options_.takes_over,
                             self->options_.sightings, self->options_.inspector, self->options_.names});
    return self;
}

void Listener::follow_groups() {
    if (!options_.names || std::all_of(events_.begin(), events_.end(),
                                       [](const settings::Event& event) { return event.scope.groups.empty(); }))
        return;
    const auto hierarchy = find_group_hierarchy();
    if (!hierarchy) {
        groups_problem_ = hierarchy.error().message;
        return;
    }
    groups_ = std::make_unique<GroupScopes>(
        events_, *options_.names,
        [this](auto event, auto group, bool wanted) { return programs_->scope_group(event, group, wanted); },
        *hierarchy);
}

void Listener::forget_runs(std::uint32_t event) {
    const std::lock_guard lock(loop_->mutex);
    loop_->runs.drop(event, events_);
}

void Listener::forget_stages(std::uint32_t event) {
    const std::lock_guard lock(loop_->mutex);
    loop_->runs.leave_stages(event);
}

Listener::~Listener() { detach(); }

void Listener::detach() {
    stop();
    if (arming_) arming_->stop();
    if (programs_) programs_->detach_all();
}

void Listener::start() {
    thread_ = std::thread([this] {
        // Deadlines are noticed in time on a busy machine too. Without CAP_SYS_NICE they may be later.
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), -20);
        const auto work = boost::asio::make_work_guard(loop_->context);
        loop_->await_notices();
        loop_->await_sweep();
        loop_->look();
        loop_->context.run();
    });
}

void Listener::stop() {
    if (!thread_.joinable()) return;
    loop_->context.stop();
    thread_.join();
}

void Listener::want_breach(bool wanted) {
    breach_wanted_.store(wanted);
    __atomic_store_n(&programs_->watch()->breach_wanted, wanted ? 1U : 0U, __ATOMIC_RELEASE);
    if (wanted) boost::asio::post(loop_->context, [this] { loop_->look(); });
}

void Listener::record_runs(Recorded recorded) {
    recorded_.store(recorded);
    __atomic_store_n(&programs_->watch()->recording, recorded == Recorded::No ? 0U : 1U, __ATOMIC_RELEASE);
}

void Listener::outgrow_early() {
    const std::lock_guard lock(loop_->mutex);
    loop_->early.outgrow(monotonic_ns());
}

Listener::Early Listener::early() const {
    const std::lock_guard lock(loop_->mutex);
    return {loop_->early.points_ns(), loop_->early.counts(monotonic_ns())};
}

std::vector<lagtrap_run> Listener::open_runs() const {
    const std::lock_guard lock(loop_->mutex);
    const std::uint64_t now_ns = monotonic_ns();
    return loop_->runs.snapshot(now_ns, [&](std::uint32_t event) { return loop_->believes(event, now_ns); });
}

std::vector<lagtrap_run_so_far> Listener::runs_so_far() const {
    const std::lock_guard lock(loop_->mutex);
    return loop_->runs.so_far(events_);
}

std::vector<lagtrap_trace_text> Listener::trace_texts() const {
    const std::lock_guard lock(loop_->mutex);
    return loop_->runs.trace_texts(events_);
}

bool Listener::is_open(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns) const {
    const std::lock_guard lock(loop_->mutex);
    return loop_->runs.is_open(event, tid, begin_ns);
}

std::vector<EventStatus> Listener::status() const {
    std::vector<EventStatus> result;
    std::map<std::uint32_t, OpenRuns::Counts> open;
    {
        const std::lock_guard lock(loop_->mutex);
        open = loop_->runs.count(monotonic_ns());
    }
    for (std::uint32_t index = 0; index < events_.size(); ++index) {
        EventStatus status;
        status.name = events_[index].name;
        const EventArming::EventState state = arming_->state(index);
        status.problem = state.problem;
        status.arming = state.arming;
        status.shed = state.shed;
        status.counted = state.counted;
        status.armed = state.armed();
        status.copies = arming_->copies_of(index);
        if (!events_[index].scope.groups.empty()) {
            status.groups = groups_ ? groups_->of(index) : ScopedGroups{};
            if (!groups_problem_.empty()) status.groups->problem = groups_problem_;
        }
        {
            const std::lock_guard lock(stacks_mutex_);
            status.stacks_shed = stacks_shed_[index];
            status.stages_shed = stages_shed_[index];
        }
        status.open = open[index];
        auto counters = programs_->counters(index);
        if (counters) status.counters = *counters;
        status.pairing = pairing_findings(status.counters, status.open);
        status.counters.abandoned += status.open.abandoned;
        status.counters.expired += status.open.expired;
        // What was noticed while it was open counts from then on, and not again at its end.
        const std::uint64_t counted_before = status.counters.told_delays + status.counters.withdrawn;
        const auto before_us = told_before_.find(index);
        const std::uint64_t told = status.open.told + (before_us == told_before_.end() ? 0 : before_us->second);
        status.counters.delays += told - std::min(told, counted_before);
        status.by_goroutine = programs_->pairs_by_goroutine(index);
        status.records_runs = events_[index].record == settings::RecordMode::Runs;
        if (auto runs = programs_->run_counters(index); runs) status.runs = *runs;
        if (const auto before = carried_.find(status.name); before != carried_.end()) {
            status.counters.add(before->second.counters);
            status.runs.add(before->second.runs);
        }
        result.push_back(std::move(status));
    }
    return result;
}

Listener::Progress Listener::progress() const { return {events_.size() - arming_->count_arming(), events_.size()}; }

std::map<std::uint32_t, std::uint32_t> Listener::shared_events(const Listener& before) const {
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (std::uint32_t old = 0; old < before.events_.size(); ++old) {
        const auto same = std::find_if(events_.begin(), events_.end(), [&](const settings::Event& event) {
            return make_the_same_runs(event, before.events_[old]);
        });
        if (same == events_.end()) continue;
        const auto number = static_cast<std::uint32_t>(same - events_.begin());
        const auto files = arming_->identities_of(number), files_before = before.arming_->identities_of(old);
        const bool same_files = std::equal(files.begin(), files.end(), files_before.begin(), files_before.end(),
                                           [](const auto& one, const auto& other) { return one.same_file(other); });
        if (same_files && arming_->state(number).armed()) numbers[old] = number;
    }
    return numbers;
}

// What the programs in both counted in the meantime, some microseconds, counts here.
std::uint64_t Listener::take_over(Listener& before) {
    auto takeover = RunTakeover::between({before.programs_->tags_fd(), before.programs_->slots_fd()},
                                         {programs_->tags_fd(), programs_->slots_fd()});
    const auto numbers = takeover ? shared_events(before) : std::map<std::uint32_t, std::uint32_t>{};
    {
        // Here nobody knows which programs were replaced by others before now.
        const std::lock_guard lock(before.loop_->mutex);
        before.loop_->runs.sweep(monotonic_ns(), before.events_);
        before.loop_->tell_aborted();
    }
    carried_ = before.all_totals();
    arming_->let_hits_count();
    if (takeover) takeover->copy(numbers, before.events_);
    before.arming_->hold_hits();
    const std::uint64_t told_until_ns = monotonic_ns();
    // Programs that had begun before are through: the kernel lets none run across this.
    (void)::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
    if (!takeover) return told_until_ns;
    takeover->settle();
    carry(before, takeover->counts(), numbers);
    boost::asio::post(loop_->context, [this] { loop_->look(); });
    return told_until_ns;
}

// Delays that were noticed while they were open are in the totals already, and are counted again when they end.
void Listener::carry(const Listener& before, const std::map<std::uint32_t, RunTakeover::Counts>& moved,
                     const std::map<std::uint32_t, std::uint32_t>& numbers) {
    for (const auto& [event, counts] : moved) {
        EventCounters& counters = carried_[before.events_[event].name].counters;
        counters.abandoned += counts.left;
        counters.delays -= std::min(counters.delays, counts.told);
        if (const auto number = numbers.find(event); number != numbers.end())
            told_before_[number->second] = counts.told;
    }
}

std::map<std::string, EventCounters> Listener::all_counters() const {
    std::map<std::string, EventCounters> counters;
    for (const auto& [name, totals] : all_totals()) counters[name] = totals.counters;
    return counters;
}

std::map<std::string, EventTotals> Listener::all_totals() const {
    std::map<std::string, EventTotals> totals;
    for (const EventStatus& status : this->status()) {
        totals[status.name] = {status.counters, status.runs};
    }
    return totals;
}

std::vector<Listener::EventHits> Listener::hits() const {
    std::vector<EventHits> result(events_.size());
    for (std::uint32_t index = 0; index < events_.size(); ++index) {
        const auto counters = programs_->counters(index);
        if (!counters) continue;
        const std::uint64_t hits = counters->hits(), begins = counters->begins().hits;
        result[index] = {hits,
                         begins,
                         hits - std::min<std::uint64_t>(hits, begins + counters->ends().hits),
                         counters->out_of_scope + counters->limited,
                         counters->users_seen,
                         counters->stack_ns,
                         counters->costs,
                         programs_->probe_kinds(index)};
    }
    return result;
}

std::uint64_t Listener::users_seen() const {
    std::uint64_t users = 0;
    for (std::uint32_t index = 0; index < events_.size(); ++index)
        if (const auto counters = programs_->counters(index); counters) users |= counters->users_seen;
    return users;
}

void Listener::set_users_without_recordings(const std::set<std::uint32_t>& uids) {
    programs_->parties().set_users_without_recordings(uids);
    const std::lock_guard lock(loop_->mutex);
    loop_->runs.set_users_without_recordings(uids);
}

Status Listener::limit(std::uint32_t event, const HitParty& who, bool wanted) {
    TRY(programs_->limit(event, who, wanted));
    const std::lock_guard lock(loop_->mutex);
    if (wanted) loop_->runs.leave_out(event, who, events_);
    return success();
}

Status Listener::count_times(bool wanted) { return programs_->count_times(wanted); }

std::uint64_t Listener::times_cost_ns() const {
    return programs_->counts_times() ? context_switches() * time_cost_ns : 0;
}

Status Listener::take_stacks(std::uint32_t event, bool wanted) {
    TRY(programs_->take_stacks(event, wanted));
    const std::lock_guard lock(stacks_mutex_);
    stacks_shed_[event] = !wanted;
    return success();
}

Status Listener::watch_stages(std::uint32_t event, bool wanted) {
    TRY(arming_->watch_stages(event, wanted));
    const std::lock_guard lock(stacks_mutex_);
    stages_shed_[event] = !wanted;
    return success();
}

}  // namespace lagtrap::daemon
