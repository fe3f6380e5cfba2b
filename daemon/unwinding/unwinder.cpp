#include "daemon/unwinding/unwinder.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "binaries/reader/file_reader.hpp"
#include "core/clock.hpp"
#include "core/disk_time.hpp"
#include "daemon/processes/process_scan.hpp"
#include "daemon/unwinding/watched_code.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds exec_time = 2ms;  // until a program that starts is mapped
constexpr auto status_interval = 100ms;
constexpr auto description_timeout = 1s;
constexpr auto publish_interval = 20ms;  // while tables are being made
constexpr std::size_t identified_at_once = 1024;
constexpr auto between_looks = 5ms;

void set_priority(int thread, int nice) {
    (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(thread), nice);
}

// For the thread, and for the process that reads files for it.
void set_making_priority(int thread, int nice) {
    set_priority(thread, nice);
    if (auto* const reader = binaries::file_reader()) reader->set_nice(thread, nice);
}

std::chrono::nanoseconds cpu_time_of(int thread, clockid_t clock) {
    timespec time{};
    (void)::clock_gettime(clock, &time);
    auto* const reader = binaries::file_reader();
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec) +
           (reader ? reader->cpu_time_for(thread) : 0ns);
}

int own_thread() { return static_cast<int>(::syscall(SYS_gettid)); }

}  // namespace

Unwinder::Unwinder(std::unique_ptr<UnwindStore> store, TaskEvents events,
                   std::optional<binaries::UnwindCache> cache, ProcessInspector& inspector,
                   MappedFiles& mapped_files)
    : store_(std::move(store)),
      cache_(std::move(cache)),
      events_(std::move(events)),
      inspector_(inspector),
      mapped_files_(mapped_files),
      modules_(*store_, makers_.size()),
      spaces_(*store_, modules_, find_user) {}

Result<std::unique_ptr<Unwinder>> Unwinder::create(const Options& options,
                                                   ProcessInspector& inspector,
                                                   MappedFiles& mapped_files) {
    TRY_ASSIGN(auto store, UnwindStore::create(options.memory_bytes));
    TRY_ASSIGN(TaskEvents events, TaskEvents::open());
    std::optional<binaries::UnwindCache> cache;
    std::string cache_problem;
    if (!options.cache_folder.empty()) {
        auto opened = binaries::UnwindCache::open(options.cache_folder, options.cache_limit_bytes);
        if (opened)
            cache.emplace(std::move(opened).value());
        else
            cache_problem = opened.error().message;
    }
    std::unique_ptr<Unwinder> self(new Unwinder(std::move(store), std::move(events),
                                                std::move(cache), inspector, mapped_files));
    self->cache_problem_ = std::move(cache_problem);
    self->to_follower_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!self->to_follower_.valid())
        return system_error("create the event that wakes the follower");
    self->looker_ = std::thread([unwinder = self.get()] { unwinder->look_at_files(); });
    self->finder_ = std::thread([unwinder = self.get()] { unwinder->find_watched(); });
    self->follower_ = std::thread([unwinder = self.get()] { unwinder->follow(); });
    for (std::size_t i = 0; i < self->makers_.size(); ++i)
        self->maker_threads_[i] = std::thread(
            [unwinder = self.get(), i] { unwinder->make_tables(unwinder->makers_[i]); });
    return self;
}

Unwinder::~Unwinder() {
    stopping_.store(true);
    { const std::scoped_lock lock(state_mutex_); }
    look_soon();
    to_maker_.notify_all();
    to_looker_.notify_all();
    to_finder_.notify_all();
    if (finder_.joinable()) finder_.join();
    if (looker_.joinable()) looker_.join();
    if (follower_.joinable()) follower_.join();
    for (std::thread& maker : maker_threads_)
        if (maker.joinable()) maker.join();
}

void Unwinder::follow() {
    (void)::pthread_setname_np(::pthread_self(), "follower");
    start_over();
    auto last_status = std::chrono::steady_clock::now() - status_interval;
    FollowPauses pauses;
    while (!stopping_) {
        heartbeat_.beat();
        bool some_lost = false;
        std::uint64_t capture_ns = take_capture_to_describe();
        RecordBuffer events = take_ordered(some_lost);
        if (scan_if_needed(some_lost)) {
            if (some_lost) events = RecordBuffer();
            // The capture's log lacks the lost events, so the result of the scan replaces them.
            if (capture_ns == 0 && is_capturing()) capture_ns = monotonic_ns();
        }
        pauses.note(!events.empty());
        take_events_in(events, capture_ns);
        mapped_files_.done();
        const bool making = publish();
        if (const auto now = std::chrono::steady_clock::now();
            now - last_status >= status_interval) {
            note_status();
            last_status = now;
        }
        wait_for_work(pauses.next(capturing_, making, mapped_files_.wants_any()));
    }
}

bool Unwinder::scan_if_needed(bool some_lost) {
    scan_due_ = scan_due_ || some_lost;
    const auto began = std::chrono::steady_clock::now();
    const bool may_scan = scan_due_ && scan_budget_.may_scan(began);
    if (!scan_wanted_.exchange(false) && !may_scan) return false;
    start_over();
    scan_budget_.charge(std::chrono::steady_clock::now() - began);
    return std::exchange(scan_due_, false);
}

void Unwinder::wait_for_work(std::chrono::milliseconds pause) const {
    const auto look_after = std::chrono::steady_clock::now() + FollowPauses::min_mapping;
    std::array<pollfd, 2> wakeups{pollfd{to_follower_.get(), POLLIN, 0},
                                  pollfd{events_.wakeup_fd(), POLLIN, 0}};
    (void)::poll(wakeups.data(), capturing_ ? 1 : 2, static_cast<int>(pause.count()));
    if (wakeups[0].revents == 0 && wakeups[1].revents != 0) {
        const auto rest = std::chrono::ceil<std::chrono::milliseconds>(
            look_after - std::chrono::steady_clock::now());
        (void)::poll(wakeups.data(), 1, static_cast<int>(std::max(rest, exec_time).count()));
    }
    eventfd_t count = 0;
    (void)::eventfd_read(to_follower_.get(), &count);
}

void Unwinder::take_events_in(const RecordBuffer& events, std::uint64_t capture_ns) {
    const std::scoped_lock lock(state_mutex_);
    events.for_each([&](const lagtrap_record* record) {
        if (capture_ns != 0 && record->at_ns >= capture_ns) describe(std::exchange(capture_ns, 0));
        spaces_.take(record);
        mapped_files_.take(record);
    });
    if (capture_ns != 0) describe(capture_ns);
}

bool Unwinder::identify_files() {
    ProcessSpaces::Unidentified asked;
    {
        const std::scoped_lock lock(state_mutex_);
        asked = spaces_.unidentified(identified_at_once, std::chrono::steady_clock::now());
    }
    for (const auto& mappings : asked) {
        if (stopping_) break;
        const auto identities = inspector_.identify(mappings);
        const std::scoped_lock lock(state_mutex_);
        spaces_.identify(mappings, identities, std::chrono::steady_clock::now());
    }
    return !asked.empty();
}

bool Unwinder::read_outgrown() {
    std::optional<std::uint32_t> pid;
    {
        const std::scoped_lock lock(state_mutex_);
        pid = spaces_.next_outgrown(std::chrono::steady_clock::now());
    }
    if (!pid) return false;
    const auto began = std::chrono::steady_clock::now();
    const auto process = inspector_.read(*pid, ProcessInspector::Code::Read, {});
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock(state_mutex_);
    const bool there =
        spaces_.read_anew(*pid, process ? std::optional(*process) : std::nullopt, now - began, now);
    if (there && process)
        process->records.for_each(
            [this](const lagtrap_record* record) { mapped_files_.take(record); });
    return true;
}

// On its own thread, because untrusted files determine how long this takes.
void Unwinder::look_at_files() {
    (void)::pthread_setname_np(::pthread_self(), "looker");
    while (!stopping_) {
        const bool identified = identify_files();
        if (read_outgrown() || identified) look_soon();
        std::unique_lock lock(state_mutex_);
        to_looker_.wait_for(lock, between_looks, [this] { return stopping_.load(); });
        to_looker_.wait(lock, [this] { return stopping_ || look_wanted_; });
        look_wanted_ = false;
    }
}

bool Unwinder::publish() {
    const std::scoped_lock lock(state_mutex_);
    spaces_.publish();
    has_published_.notify_all();
    look_wanted_ = true;
    to_looker_.notify_one();
    if (modules_.waiting() > 0) to_maker_.notify_all();
    raise_priority_of_late_tables();
    if (const auto now = std::chrono::steady_clock::now();
        now - last_sweep_ >= FollowPauses::idle) {
        spaces_.note_users();
        spaces_.look_again_at_unread();
        modules_.sweep(now);
        last_sweep_ = now;
    }
    const bool at_work = std::any_of(makers_.begin(), makers_.end(),
                                     [](const Maker& maker) { return maker.since.has_value(); });
    return at_work || modules_.waiting() > 0;
}

std::uint64_t Unwinder::take_capture_to_describe() {
    const std::scoped_lock lock(events_mutex_);
    return std::exchange(capture_to_describe_ns_, 0);
}

bool Unwinder::is_capturing() {
    const std::scoped_lock lock(events_mutex_);
    return capturing_;
}

void Unwinder::describe(std::uint64_t at_ns) {
    RecordBuffer mappings;
    not_described_ += spaces_.describe(at_ns, mappings);
    const std::scoped_lock lock(events_mutex_);
    if (!capturing_ || at_ns < capture_began_ns_) return;
    for_capture_.add(mappings);
    described_ = true;
    has_described_.notify_all();
}

// Reads everything again from /proc: at the start, and after events were lost. One process at a
// time, which limits the memory.
void Unwinder::start_over() {
    {
        const std::scoped_lock lock(state_mutex_);
        spaces_.begin_scan();
        mapped_files_.forget_all();
    }
    for (const std::uint32_t pid : list_processes("/proc")) {
        if (stopping_) return;
        const auto process = inspector_.read(pid, ProcessInspector::Code::Read, {});
        heartbeat_.beat();
        const std::scoped_lock lock(state_mutex_);
        if (!process) {
            spaces_.note_unread(pid);
            continue;
        }
        spaces_.take(*process);
        process->records.for_each(
            [this](const lagtrap_record* record) { mapped_files_.take(record); });
    }
    const std::scoped_lock lock(state_mutex_);
    spaces_.end_scan();
    ++scans_;
}

void Unwinder::drain_rings() {
    events_.drain([this](const lagtrap_record* record) {
        order_.add(record);
        if (capturing_) for_capture_.add(record);
    });
}

RecordBuffer Unwinder::take_ordered(bool& some_lost) {
    const std::scoped_lock lock(events_mutex_);
    const std::uint64_t complete_until_ns = monotonic_ns();
    drain_rings();
    some_lost = std::exchange(lost_before_, events_.lost()) != events_.lost();
    return order_.take_before(complete_until_ns);
}

void Unwinder::raise_priority_of_late_tables() {
    const auto now = std::chrono::steady_clock::now();
    for (const Maker& maker : makers_) {
        if (!maker.cpu_before_job || !TablePriority::is_late(now - *maker.since)) continue;
        const auto cpu_time = cpu_time_of(maker.thread, maker.cpu_clock) - *maker.cpu_before_job;
        set_making_priority(maker.thread,
                            TablePriority::of_late(modules_.had_much(maker.user), cpu_time));
    }
}

MadeTable Unwinder::make(const Maker& maker, TableJob job, bool patient) {
    if (cache_ && !job.build_id.empty())
        if (auto known = load_table(job, *cache_)) return std::move(*known);
    if (auto failed = open_for(job, inspector_)) return std::move(*failed);
    if (cache_)
        if (auto known = load_table(job, *cache_)) return std::move(*known);
    if (patient) set_making_priority(maker.thread, TablePriority::lowest);
    MadeTable made = make_table(std::move(job), cache_ ? &*cache_ : nullptr);
    set_making_priority(maker.thread, TablePriority::normal);
    return made;
}

void Unwinder::make_tables(Maker& maker) {
    use_least_disk_time();
    set_priority(own_thread(), 0);
    std::unique_lock lock(state_mutex_);
    maker.thread = own_thread();
    (void)::pthread_getcpuclockid(::pthread_self(), &maker.cpu_clock);
    auto last_publish = std::chrono::steady_clock::now();
    while (!stopping_) {
        auto job = modules_.next_job();
        if (!job) {
            maker.since.reset();
            to_maker_.wait(lock);
            continue;
        }
        const auto began = std::chrono::steady_clock::now();
        if (!maker.since) maker.since = began;
        maker.cpu_before_job = cpu_time_of(maker.thread, maker.cpu_clock);
        maker.user = job->request.user;
        const bool patient = TablePriority::is_patient(began - *maker.since, job->request.watched,
                                                       capturing_, modules_.had_much(maker.user));
        lock.unlock();
        MadeTable made = make(maker, std::move(*job), patient);
        lock.lock();
        maker.cpu_before_job.reset();
        modules_.take(std::move(made));
        to_maker_.notify_all();  // the same user's next table may be made now
        const auto now = std::chrono::steady_clock::now();
        if (modules_.waiting() > 0 && now - last_publish < publish_interval) continue;
        last_publish = now;
        look_soon();
    }
}

void Unwinder::look_soon() { (void)::eventfd_write(to_follower_.get(), 1); }

std::vector<int> Unwinder::look_at_cpus() {
    const std::scoped_lock lock(events_mutex_);
    drain_rings();
    return events_.renew();
}

void Unwinder::begin_capture() {
    {
        const std::scoped_lock lock(events_mutex_);
        (void)for_capture_.take();
        capture_began_ns_ = capture_to_describe_ns_ = monotonic_ns();
        described_ = false;
        capturing_ = true;
    }
    look_soon();
}

RecordBuffer Unwinder::take_events() {
    const std::scoped_lock lock(events_mutex_);
    return for_capture_.take();
}

bool Unwinder::end_capture() {
    std::unique_lock lock(events_mutex_);
    const bool described =
        has_described_.wait_for(lock, description_timeout, [this] { return described_; });
    drain_rings();
    capturing_ = false;
    capture_began_ns_ = 0;
    return described;
}

void Unwinder::forget_capture() {
    const std::scoped_lock lock(events_mutex_);
    capturing_ = false;
    capture_began_ns_ = capture_to_describe_ns_ = 0;
    (void)for_capture_.take();
}

void Unwinder::hold_memory(bool held) {
    const std::scoped_lock lock(state_mutex_);
    store_->hold(held);
    spaces_.hold_memory(held);
}

void Unwinder::want_files(const std::set<std::string>& names) {
    if (mapped_files_.want(names)) {
        RecordBuffer known;
        const std::scoped_lock lock(state_mutex_);
        (void)spaces_.describe(monotonic_ns(), known);
        known.for_each([this](const lagtrap_record* record) { mapped_files_.take(record); });
        scan_wanted_.store(true);
    }
    mapped_files_.done();
    look_soon();
}

std::optional<std::size_t> Unwinder::prepare(std::uint32_t pid, std::chrono::milliseconds timeout,
                                             const std::function<bool()>& enough) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    std::unique_lock lock(state_mutex_);
    spaces_.prioritize(pid);
    for (;;) {
        const auto missing = spaces_.files_to_come(pid);
        if (missing == 0 || std::chrono::steady_clock::now() >= until || enough()) {
            spaces_.forget_priority(pid);
            return missing;
        }
        look_soon();
        (void)has_published_.wait_for(lock, publish_interval);
    }
}

void Unwinder::watch(std::set<std::string> paths) {
    {
        const std::scoped_lock lock(state_mutex_);
        spaces_.set_watched(paths);
        watch_wanted_ = std::move(paths);
    }
    to_finder_.notify_one();
}

// On its own thread, for the same reason.
void Unwinder::find_watched() {
    (void)::pthread_setname_np(::pthread_self(), "finder");
    std::unique_lock lock(state_mutex_);
    while (!stopping_) {
        if (!watch_wanted_) {
            to_finder_.wait(lock);
            continue;
        }
        const std::set<std::string> programs = *std::exchange(watch_wanted_, std::nullopt);
        modules_.begin_watched();
        spaces_.add_watched();
        lock.unlock();
        find_watched_code(programs, inspector_, [this](const WatchedCode& code) {
            const std::scoped_lock state(state_mutex_);
            modules_.add_watched(code.identity, code.mapping, code.owner);
            to_maker_.notify_all();
            return !stopping_ && !watch_wanted_;
        });
        lock.lock();
        modules_.end_watched();
    }
}

std::uint64_t Unwinder::events_lost() const {
    const std::scoped_lock lock(events_mutex_);
    return events_.lost() + for_capture_.not_kept();
}

UnwinderStatus Unwinder::status() const {
    const std::scoped_lock lock(events_mutex_);
    UnwinderStatus status = status_;
    status.events_lost = events_.lost() + for_capture_.not_kept();
    return status;
}

void Unwinder::note_status() {
    UnwinderStatus status;
    {
        const std::scoped_lock lock(state_mutex_);
        status.spaces = spaces_.totals();
        status.scans = scans_;
        status.tables_waiting = status.spaces.files_waiting + modules_.tables_to_come();
        status.modules = modules_.totals();
        status.unreadable.assign(modules_.unreadable().begin(), modules_.unreadable().end());
        status.not_described = not_described_;
        status.used_bytes = store_->used_bytes();
        status.taken_bytes = store_->taken_bytes();
        status.budget_bytes = store_->budget_bytes();
        note_tables(modules_, status);
    }
    const std::scoped_lock lock(events_mutex_);
    status_ = std::move(status);
}

}  // namespace lagtrap::daemon
