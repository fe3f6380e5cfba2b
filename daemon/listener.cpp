#include "daemon/listener.hpp"

#include <bpf/libbpf.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
#include "daemon/open_runs.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// No look comes sooner than this after the last one: an event with a threshold of microseconds shall not make
// the listener spin. Within the 2 ms that a deadline may be noticed late.
constexpr std::uint64_t shortest_look_interval_ns = 1'000'000;
constexpr auto sweep_interval = 10s;
constexpr std::uint64_t belief_lasts_ns = 1'000'000'000;

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
    Loop(Listener& listener, OpenRuns open_runs)
        : owner(listener),
          runs(std::move(open_runs)),
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
    void await_sweep();
    int take_notice(const lagtrap_record* record, std::size_t bytes);
    void look();
    void tell_aborted() {
        if (auto aborted = runs.take_aborted(); !aborted.empty()) owner.options_.on_aborted(std::move(aborted));
    }
    std::uint64_t look_once(std::uint64_t now_ns);
    // What experience says of the event's overdue runs (believes_deadlines()), asked for once a second.
    [[nodiscard]] bool believes(std::uint32_t event, std::uint64_t now_ns);
    void schedule_look(std::uint64_t at_ns);

    Listener& owner;
    boost::asio::io_context context{1};
    mutable std::mutex mutex;
    OpenRuns runs;
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
        if (owner.breach_wanted_.exchange(false)) owner.options_.on_breach(breach);
    }
    return 0;
}

bool Listener::Loop::believes(std::uint32_t event, std::uint64_t now_ns) {
    if (event >= beliefs.size()) return true;
    Belief& belief = beliefs[event];
    if (now_ns < belief.until_ns) return belief.believed;
    const auto counters = owner.programs_->counters(event);
    belief = {!counters || believes_deadlines(*counters, runs.count(now_ns)[event]), now_ns + belief_lasts_ns};
    return belief.believed;
}

// One pass over the open runs: reports the first that is overdue; returns when the next pass is due.
std::uint64_t Listener::Loop::look_once(std::uint64_t now_ns) {
    lagtrap_watch* const watch = owner.programs_->watch();
    const bool begun = __atomic_exchange_n(&watch->begun_since_look, 0, __ATOMIC_ACQ_REL) != 0;
    const std::lock_guard lock(mutex);
    // A run that becomes overdue during a recording is in it; one during the cool-down shall be told of after it.
    const bool tell = owner.breach_wanted_.load() || __atomic_load_n(&watch->recording, __ATOMIC_ACQUIRE) != 0;
    const auto believed = [&](std::uint32_t event) { return believes(event, now_ns); };
    const OpenRuns::Look seen = runs.look(now_ns, owner.events_, tell, believed);
    tell_aborted();
    if (!seen.overdue.empty() && owner.breach_wanted_.exchange(false)) {
        __atomic_store_n(&watch->breach_wanted, 0, __ATOMIC_RELEASE);
        const auto first = std::min_element(seen.overdue.begin(), seen.overdue.end(),
                                            [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
        owner.options_.on_breach(Breach{*first, true, monotonic_ns()});
    }
    if (seen.open == 0 && !begun) return LAGTRAP_NEVER_NS;
    // A run that begins from now on is not overdue before now + the smallest threshold.
    std::uint64_t next_ns = seen.earliest_deadline_ns;
    if (smallest_threshold_ns != LAGTRAP_NEVER_NS) next_ns = std::min(next_ns, now_ns + smallest_threshold_ns);
    return next_ns == LAGTRAP_NEVER_NS ? next_ns : std::max(next_ns, now_ns + shortest_look_interval_ns);
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

void Listener::Loop::await_sweep() {
    sweep_timer.expires_after(sweep_interval);
    sweep_timer.async_wait([this](const auto& failure) {
        if (failure) return;
        {
            const std::lock_guard lock(mutex);
            runs.sweep(monotonic_ns(), owner.events_);
            tell_aborted();
        }
        await_sweep();
    });
}

Listener::Listener(const std::vector<settings::Event>& events, Options options)
    : events_(events),
      problems_(events.size()),
      arming_(events.size(), true),
      shed_(events.size()),
      stacks_shed_(events.size()),
      options_(std::move(options)) {}

Result<std::unique_ptr<Listener>> Listener::create(const settings::Settings& settings, const UnwindStore& store,
                                                   Options options) {
    const std::vector<settings::Event>& events = settings.events;
    std::unique_ptr<Listener> self(new Listener(events, std::move(options)));
    TRY_ASSIGN(self->programs_, ListenerPrograms::load(events, settings.runs, store));
    TRY_ASSIGN(OpenRuns runs, OpenRuns::map(self->programs_->tags_fd(), self->programs_->slots_fd()));
    runs.follow_programs(self->programs_->program_starts_fd());
    self->loop_ = std::make_unique<Loop>(*self, std::move(runs));
    TRY(self->loop_->open_notices());
    for (std::uint32_t index = 0; index < events.size(); ++index)
        for (const std::string& binary : self->binaries_of(index))
            if (const auto identity = identity_of(binary); identity) self->binary_identities_[binary] = *identity;
    std::vector<std::string> guarded;
    for (const auto& [binary, identity] : self->binary_identities_) guarded.push_back(binary);
    self->guard_ = std::make_unique<WriteGuard>(
        std::move(guarded), [listener = self.get()](const std::string& binary) { listener->leave(binary); });
    return self;
}

void Listener::arm_all() {
    {
        const std::lock_guard attaching(attach_mutex_);
        programs_->expect_all();
    }
    for (std::uint32_t index = 0; index < events_.size() && !arming_given_up_.load(); ++index) {
        arm(index);
        const std::lock_guard lock(shed_mutex_);
        arming_[index] = false;
    }
    const std::lock_guard attaching(attach_mutex_);
    programs_->forget_places();
}

std::optional<Listener::FileIdentity> Listener::identity_of(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
    return FileIdentity{facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size),
                        static_cast<std::uint64_t>(facts.st_mtim.tv_sec),
                        static_cast<std::uint64_t>(facts.st_mtim.tv_nsec)};
}

std::vector<std::string> Listener::binaries_of(std::uint32_t event) const {
    std::vector<std::string> binaries;
    const auto add = [&](const settings::Marker& marker) {
        if (!marker.binary.empty()) binaries.push_back(marker.binary);
    };
    add(events_[event].begin);
    add(events_[event].end);
    for (const auto& stage : events_[event].stages) add(stage.marker);
    return binaries;
}

void Listener::arm(std::uint32_t event) {
    const std::lock_guard attaching(attach_mutex_);
    for (const std::string& binary : binaries_of(event)) {
        if (!guard_->written(binary)) continue;
        const std::lock_guard lock(shed_mutex_);
        problems_[event] = binary + " is being written to; it is watched when that has ended";
        return;
    }
    if (const auto attached = programs_->attach(event); !attached) {
        const std::lock_guard lock(shed_mutex_);
        problems_[event] = attached.error().message;
    }
}

void Listener::leave(const std::string& binary) {
    const std::lock_guard attaching(attach_mutex_);
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
        const auto binaries = binaries_of(event);
        if (std::find(binaries.begin(), binaries.end(), binary) == binaries.end()) continue;
        (void)programs_->let_hits_count(event, false);
        auto links = programs_->take_links(event);
        while (!links.empty()) links.pop_back();
        const std::lock_guard lock(shed_mutex_);
        problems_[event] = binary + " is being written to; it is watched when that has ended";
    }
}

Listener::~Listener() { detach(); }

void Listener::detach() {
    stop();
    detaching_.clear();  // waits for them
    {
        const std::lock_guard attaching(attach_mutex_);
        if (programs_) programs_->detach_all();
    }
    guard_.reset();
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

void Listener::record_runs(bool on) {
    __atomic_store_n(&programs_->watch()->recording, on ? 1U : 0U, __ATOMIC_RELEASE);
}

std::vector<lagtrap_run> Listener::open_runs() const {
    const std::lock_guard lock(loop_->mutex);
    const std::uint64_t now_ns = monotonic_ns();
    return loop_->runs.snapshot(now_ns, [&](std::uint32_t event) { return loop_->believes(event, now_ns); });
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
        {
            const std::lock_guard lock(shed_mutex_);
            status.problem = problems_[index];
            status.arming = arming_[index];
            status.shed = shed_[index];
            status.stacks_shed = stacks_shed_[index];
        }
        status.armed = status.problem.empty() && !status.arming;
        status.open = open[index];
        auto counters = programs_->counters(index);
        if (counters) status.counters = *counters;
        status.pairing = pairing_findings(status.counters, status.open);
        status.counters.abandoned += status.open.abandoned;
        status.counters.expired += status.open.expired;
        // What was noticed while it was open counts from then on, and not again at its end.
        const std::uint64_t counted_before = status.counters.told_delays + status.counters.withdrawn;
        status.counters.delays += status.open.told - std::min(status.open.told, counted_before);
        status.by_goroutine = programs_->pairs_by_goroutine(index);
        status.records_runs = events_[index].record == settings::RecordMode::Runs;
        if (auto runs = programs_->run_counters(index); runs) status.runs = *runs;
        if (const auto before = options_.carried.find(status.name); before != options_.carried.end()) {
            status.counters.add(before->second.counters);
            status.runs.add(before->second.runs);
        }
        result.push_back(std::move(status));
    }
    return result;
}

Listener::Progress Listener::progress() const {
    const std::lock_guard lock(shed_mutex_);
    const auto waiting = std::count(arming_.begin(), arming_.end(), true);
    return {arming_.size() - static_cast<std::size_t>(waiting), arming_.size()};
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
        totals[status.name].counters.abandoned += status.open.open;  // open runs do not survive a reload
    }
    return totals;
}

std::vector<Listener::EventHits> Listener::hits() const {
    std::vector<EventHits> result(events_.size());
    for (std::uint32_t index = 0; index < events_.size(); ++index) {
        if (const auto counters = programs_->counters(index); counters)
            result[index] = {counters->hits(), counters->stack_ns, counters->costs, programs_->probe_kinds(index)};
    }
    return result;
}

void Listener::shed(std::uint32_t event, std::string reason) {
    {
        const std::lock_guard lock(shed_mutex_);
        problems_[event] = std::move(reason);
        shed_[event] = true;
    }
    const std::lock_guard attaching(attach_mutex_);
    (void)programs_->let_hits_count(event, false);  // else the markers go one after the other
    detaching_.push_back(std::async(std::launch::async, [this, event, links = programs_->take_links(event)]() mutable {
        while (!links.empty()) links.pop_back();
        const std::lock_guard lock(loop_->mutex);
        loop_->runs.drop(event, events_);
    }));
}

Status Listener::arm_again(std::uint32_t event) {
    detaching_.clear();
    const std::lock_guard attaching(attach_mutex_);
    for (const std::string& binary : binaries_of(event))
        if (guard_->written(binary)) return make_error(ErrorKind::Busy, binary + " is being written to");
    const Status attached = programs_->attach(event);
    programs_->forget_places();
    if (!attached) return attached;
    const std::lock_guard lock(shed_mutex_);
    problems_[event].clear();
    shed_[event] = false;
    return success();
}

Status Listener::take_stacks(std::uint32_t event, bool wanted) {
    TRY(programs_->take_stacks(event, wanted));
    const std::lock_guard lock(shed_mutex_);
    stacks_shed_[event] = !wanted;
    return success();
}

bool Listener::binaries_changed() const {
    for (const auto& [path, attached] : binary_identities_) {
        const auto now = identity_of(path);
        if (now && (*now != attached || (guard_ && guard_->written(path)))) return true;
    }
    return false;
}

}  // namespace lagtrap::daemon
