#include "daemon/runs/run_reporter.hpp"

#include <bpf/libbpf.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/clock.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {
namespace {

RunGatherer::Machine this_machine(NameOfContainer name_of_container) {
    RunGatherer::Machine machine;
    machine.name_of_container = std::move(name_of_container);
    utsname names{};
    if (::uname(&names) == 0) machine.host = names.nodename;
    machine.boot_id = trace::running_boot_id();
    return machine;
}

}  // namespace

// A source with its maps mapped.
struct RunReporter::Ring {
    ~Ring() {
        if (ring) ring_buffer__free(ring);
    }
    Ring() = default;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    [[nodiscard]] static Result<std::unique_ptr<Ring>> open(RunSource source,
                                                            RunGatherer& gatherer);
    // Returns and resets the number of runs that the next reported run would represent.
    [[nodiscard]] std::uint64_t take_pending(std::uint32_t event) {
        return __atomic_exchange_n(&quotas[event].pending, 0, __ATOMIC_ACQ_REL);
    }
    void give_back(std::uint32_t event, std::uint64_t runs) {
        __atomic_fetch_add(&quotas[event].pending, runs, __ATOMIC_ACQ_REL);
    }

    RunSource source;
    RunGatherer* gatherer = nullptr;
    std::function<void()> close_batch;
    bool stacks_wanted = false;
    const std::function<void()>* on_process = nullptr;
    MappedMap quota_memory;
    lagtrap_run_quota* quotas = nullptr;
    ring_buffer* ring = nullptr;
};

Result<std::unique_ptr<RunReporter::Ring>> RunReporter::Ring::open(RunSource source,
                                                                   RunGatherer& gatherer) {
    auto self = std::make_unique<Ring>();
    self->gatherer = &gatherer;
    TRY_ASSIGN(self->quota_memory, MappedMap::map(source.quotas.get(), sizeof(lagtrap_run_quota),
                                                  LAGTRAP_MAX_EVENTS, "the quotas of runs"));
    self->quotas = static_cast<lagtrap_run_quota*>(self->quota_memory.at);
    const auto callback = [](void* context, void* data, std::size_t bytes) {
        auto* opened = static_cast<Ring*>(context);
        opened->gatherer->take(static_cast<const lagtrap_record*>(data), bytes,
                               opened->source.ended_after_ns);
        if (opened->gatherer->full()) opened->close_batch();
        if (opened->stacks_wanted &&
            static_cast<const lagtrap_record*>(data)->type == LAGTRAP_REPORT_PROCESS)
            (*opened->on_process)();
        return 0;
    };
    self->ring = ring_buffer__new(source.ring.get(), callback, self.get(), nullptr);
    if (!self->ring) return libbpf_error("map the ring of reported runs", -errno);
    self->source = std::move(source);
    return self;
}

RunReporter::RunReporter(const spool::Spool& spool, NameOfContainer name_of_container, Log log)
    : writer_(spool, std::move(log)), gatherer_(this_machine(std::move(name_of_container))) {}

Result<std::unique_ptr<RunReporter>> RunReporter::create(const spool::Spool& spool,
                                                         std::function<void()> on_process,
                                                         NameOfContainer name_of_container,
                                                         Log log) {
    std::unique_ptr<RunReporter> self(
        new RunReporter(spool, std::move(name_of_container), std::move(log)));
    self->on_process_ = std::move(on_process);
    self->clock_.reset(::timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!self->orders_.valid() || !self->clock_.valid())
        return system_error("create the reporter of runs");
    self->watch_clock();
    self->thread_ = std::thread([reporter = self.get()] { reporter->work(); });
    return self;
}

RunReporter::~RunReporter() { stop(); }

void RunReporter::stop() {
    if (!thread_.joinable()) return;
    orders_.stop();
    thread_.join();
}

void RunReporter::take_aborted(std::vector<ReportedRun> aborted) {
    const std::size_t runs = aborted.size();
    if (runs > 0 && !orders_.add_aborted(std::move(aborted))) writer_.lose(runs);
}

std::string RunReporter::problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
}

// The kernel cancels this timer when the clock is set or the machine resumes.
void RunReporter::watch_clock() {
    itimerspec far{};
    far.it_value.tv_sec = ClockSnapshot::take().realtime_ns / 1'000'000'000 + 10LL * 365 * 86400;
    (void)::timerfd_settime(clock_.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far,
                            nullptr);
}

void RunReporter::drain() {
    gatherer_.clocks().note(steady_snapshot());
    if (!ring_) return;
    (void)ring_buffer__consume(ring_->ring);
    if (!gatherer_.forget_stacks_if_full()) return;
    for (std::uint32_t event = 0; event < ring_->source.events.size(); ++event)
        __atomic_fetch_add(&ring_->quotas[event].generation, 1, __ATOMIC_ACQ_REL);
}

void RunReporter::close_batch() {
    if (ring_) {
        for (std::uint32_t event = 0; event < ring_->source.events.size(); ++event) {
            const std::uint64_t pending = ring_->take_pending(event);
            // The run after the next one will represent them.
            if (pending != 0 && !gatherer_.add_weight(event, pending))
                ring_->give_back(event, pending);
        }
    }
    gatherer_.add_lost(writer_.take_lost());
    writer_.put(gatherer_.close(session_.of_batch()));
    session_.next();
}

// No later run can represent these any more.
void RunReporter::settle_pending() {
    if (!ring_) return;
    for (std::uint32_t event = 0; event < ring_->source.events.size(); ++event) {
        const std::uint64_t pending = ring_->take_pending(event);
        if (pending != 0 && !gatherer_.add_weight(event, pending)) gatherer_.add_lost(pending);
    }
}

void RunReporter::change_source(RunSource source) {
    drain();
    settle_pending();
    ring_.reset();
    if (gatherer_.due_ns()) close_batch();
    gatherer_.use(source.events, source.limits, source.since_ns, source.places, source.weights,
                  source.thresholds);
    auto opened = Ring::open(std::move(source), gatherer_);
    const std::lock_guard lock(mutex_);
    problem_ = opened ? std::string() : opened.error().message;
    if (!opened) return;
    ring_ = std::move(opened).value();
    ring_->close_batch = [this] { close_batch(); };
    ring_->on_process = &on_process_;
    for (const settings::Event& event : ring_->source.events)
        if (event.stacks == settings::StackMode::Markers) ring_->stacks_wanted = true;
}

void RunReporter::take_orders() {
    RunOrders::Taken orders = orders_.take();
    for (const ReportedRun& run : orders.aborted) gatherer_.take_aborted(run);
    for (RunSource& source : orders.sources) change_source(std::move(source));
    for (const std::string& session : orders.sessions) session_.note(session);
}

// Orders and clock changes always wake the thread. Runs wake it unless they may accumulate for a
// moment: otherwise the kernel wakes the reader for each record, which costs it and the watched
// program more than the run itself.
void RunReporter::wait(bool gather_some) {
    const bool for_runs = ring_ && !gather_some;
    std::array<pollfd, 3> descriptors{
        pollfd{orders_.fd(), POLLIN, 0}, pollfd{clock_.get(), POLLIN, 0},
        pollfd{for_runs ? ring_buffer__epoll_fd(ring_->ring) : -1, POLLIN, 0}};
    ::poll(descriptors.data(), descriptors.size(),
           ReportPace::wait_ms(gatherer_.due_ns(), gather_some, monotonic_ns()));
    if (descriptors[1].revents == 0) return;
    std::uint64_t ignored = 0;
    (void)!::read(clock_.get(), &ignored, sizeof(ignored));
    watch_clock();
}

// If stacks are wanted, a program's code is inspected as soon as its first run is known.
bool RunReporter::runs_come_fast(std::uint64_t taken) {
    return pace_.runs_come_fast(taken, !ring_ || ring_->stacks_wanted, monotonic_ns());
}

void RunReporter::work() {
    (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 0);
    bool gather_some = false;
    for (;;) {
        wait(gather_some);
        const std::uint64_t before = gatherer_.runs();
        drain();
        gather_some = runs_come_fast(gatherer_.runs() - std::min(before, gatherer_.runs()));
        take_orders();
        if (gatherer_.full() || (gatherer_.due_ns() && *gatherer_.due_ns() <= monotonic_ns()))
            close_batch();
        writer_.note_gathered(gatherer_.runs());
        if (orders_.done()) break;
    }
    drain();
    settle_pending();
    gatherer_.add_lost(writer_.take_lost());
    if (gatherer_.runs() != 0) close_batch();
}

}  // namespace lagtrap::daemon
