#include "daemon/unwinder.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "binaries/file_reader.hpp"
#include "core/clock.hpp"
#include "core/idle_disk.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds idle_interval = 1s;
constexpr std::chrono::milliseconds making_interval = 50ms;
constexpr std::chrono::milliseconds capture_interval = 1ms;
constexpr std::chrono::milliseconds quiet_capture_interval = 4ms;
constexpr auto status_interval = 100ms;
constexpr auto description_patience = 1s;
constexpr auto publish_interval = 20ms;  // while tables are being made
constexpr std::size_t largest_limit = 10;
constexpr std::size_t kept_events_limit_bytes = 64 << 20;

constexpr int lowest_priority = 19;
constexpr auto patience = 200ms;  // with low priority, while something waits for a table

void set_priority(int thread, int nice) { (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(thread), nice); }

// Of the thread, and of the processes that read files for it.
void set_making_priority(int thread, int nice) {
    set_priority(thread, nice);
    if (auto* const reader = binaries::file_reader()) reader->set_nice(nice);
}

int own_thread() { return static_cast<int>(::syscall(SYS_gettid)); }

}  // namespace

Unwinder::Unwinder(std::unique_ptr<UnwindStore> store, TaskEvents events, std::optional<binaries::UnwindCache> cache)
    : store_(std::move(store)),
      cache_(std::move(cache)),
      events_(std::move(events)),
      modules_(*store_, "/proc"),
      spaces_(*store_, modules_) {}

Result<std::unique_ptr<Unwinder>> Unwinder::create(const Options& options) {
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
    std::unique_ptr<Unwinder> self(new Unwinder(std::move(store), std::move(events), std::move(cache)));
    self->cache_problem_ = std::move(cache_problem);
    self->follower_ = std::thread([unwinder = self.get()] { unwinder->follow(); });
    self->maker_ = std::thread([unwinder = self.get()] { unwinder->make_tables(); });
    return self;
}

Unwinder::~Unwinder() {
    stopping_.store(true);
    { const std::scoped_lock lock(events_mutex_, state_mutex_); }
    to_follower_.notify_all();
    to_maker_.notify_all();
    if (follower_.joinable()) follower_.join();
    if (maker_.joinable()) maker_.join();
}

void Unwinder::follow() {
    start_over();
    auto last_sweep = std::chrono::steady_clock::now();
    auto last_status = last_sweep - status_interval;
    std::chrono::milliseconds capture_pause = capture_interval;
    while (!stopping_) {
        bool making = false;
        bool some_lost = false;
        std::uint64_t capture_ns = take_capture_to_describe();
        const RecordBuffer events = take_ordered(some_lost);
        if (some_lost) {
            start_over();
            // The capture's log lacks the same events: what the scan found takes their place.
            if (capture_ns == 0 && is_capturing()) capture_ns = monotonic_ns();
        }
        capture_pause = events.empty() ? std::min(capture_pause * 2, quiet_capture_interval) : capture_interval;
        {
            const std::scoped_lock lock(state_mutex_);
            events.for_each([&](const lagtrap_record* record) {
                if (capture_ns != 0 && record->at_ns >= capture_ns) describe(std::exchange(capture_ns, 0));
                spaces_.take(record);
            });
            if (capture_ns != 0) describe(capture_ns);
            spaces_.publish();
            if (modules_.waiting() > 0) to_maker_.notify_one();
            hurry_the_maker();
            making = making_since_ || modules_.waiting() > 0;
            const auto now = std::chrono::steady_clock::now();
            if (now - last_sweep >= idle_interval) {
                modules_.sweep(now);
                last_sweep = now;
            }
        }
        if (const auto now = std::chrono::steady_clock::now(); now - last_status >= status_interval) {
            note_status();
            last_status = now;
        }
        std::unique_lock lock(events_mutex_);
        const std::chrono::milliseconds pause = capturing_ ? capture_pause : making ? making_interval : idle_interval;
        to_follower_.wait_for(lock, pause, [this] { return stopping_ || look_now_; });
        look_now_ = false;
    }
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
    spaces_.describe(at_ns, mappings);
    const std::scoped_lock lock(events_mutex_);
    if (!capturing_ || at_ns < capture_began_ns_) return;
    for_capture_.append(mappings);
    described_ = true;
    has_described_.notify_all();
}

// Everything anew, from /proc: at the start, and after events were lost.
void Unwinder::start_over() {
    ProcessScan scan;
    scan.add_others();
    const std::scoped_lock lock(state_mutex_);
    spaces_.start_over(scan.records());
}

void Unwinder::drain_rings() {
    events_.drain([this](const lagtrap_record* record) {
        unordered_.append(record, record->size_bytes, {});
        if (!capturing_) return;
        if (for_capture_.size_bytes() < kept_events_limit_bytes) {
            for_capture_.append(record, record->size_bytes, {});
        } else {
            ++events_not_kept_;
        }
    });
}

// The rings of the CPUs are read one after the other, but a process moves from one CPU to another: only what
// happened before the reading began is sure to be there; the rest waits for the next time.
RecordBuffer Unwinder::take_ordered(bool& some_lost) {
    const std::scoped_lock lock(events_mutex_);
    const std::uint64_t complete_until_ns = monotonic_ns();
    drain_rings();
    const RecordBuffer read = std::exchange(unordered_, RecordBuffer());
    some_lost = std::exchange(lost_before_, events_.lost()) != events_.lost();
    RecordBuffer ordered;
    if (some_lost) return ordered;
    std::vector<const lagtrap_record*> records;
    read.for_each([&](const lagtrap_record* record) {
        if (record->at_ns < complete_until_ns) {
            records.push_back(record);
        } else {
            unordered_.append(record, record->size_bytes, {});
        }
    });
    std::stable_sort(records.begin(), records.end(), [](const auto* a, const auto* b) { return a->at_ns < b->at_ns; });
    for (const lagtrap_record* record : records) ordered.append(record, record->size_bytes, {});
    return ordered;
}

// A busy machine would never let the lowest priority run, and stacks would end for want of tables.
void Unwinder::hurry_the_maker() {
    if (!making_since_ || std::chrono::steady_clock::now() - *making_since_ < patience) return;
    set_making_priority(maker_thread_, 0);
}

void Unwinder::make_tables() {
    use_idle_disk_time();
    set_priority(own_thread(), 0);
    std::unique_lock lock(state_mutex_);
    maker_thread_ = own_thread();
    auto last_publish = std::chrono::steady_clock::now();
    while (!stopping_) {
        auto job = modules_.next_job();
        if (!job) {
            making_since_.reset();
            to_maker_.wait(lock);
            continue;
        }
        const bool patient = !making_since_ || std::chrono::steady_clock::now() - *making_since_ < patience;
        lock.unlock();
        auto made = cache_ ? load_table(*job, *cache_) : std::nullopt;
        if (!made) {
            lock.lock();
            if (!making_since_) making_since_ = std::chrono::steady_clock::now();
            if (patient) set_making_priority(maker_thread_, lowest_priority);
            lock.unlock();
            made = make_table(std::move(*job), cache_ ? &*cache_ : nullptr);
            set_making_priority(maker_thread_, 0);
        }
        lock.lock();
        modules_.take(std::move(*made));
        const auto now = std::chrono::steady_clock::now();
        if (modules_.waiting() > 0 && now - last_publish < publish_interval) continue;
        last_publish = now;
        lock.unlock();
        {
            const std::scoped_lock events_lock(events_mutex_);
            look_now_ = true;
        }
        to_follower_.notify_one();
        lock.lock();
    }
}

void Unwinder::look_soon() {
    {
        const std::scoped_lock lock(events_mutex_);
        look_now_ = true;
    }
    to_follower_.notify_one();
}

std::vector<int> Unwinder::look_at_cpus() {
    const std::scoped_lock lock(events_mutex_);
    drain_rings();
    return events_.renew();
}

void Unwinder::begin_capture() {
    {
        const std::scoped_lock lock(events_mutex_);
        for_capture_ = RecordBuffer();
        capture_began_ns_ = capture_to_describe_ns_ = monotonic_ns();
        described_ = false;
        capturing_ = true;
        look_now_ = true;
    }
    to_follower_.notify_one();
}

RecordBuffer Unwinder::take_events() {
    const std::scoped_lock lock(events_mutex_);
    return std::exchange(for_capture_, RecordBuffer());
}

bool Unwinder::end_capture() {
    std::unique_lock lock(events_mutex_);
    const bool described = has_described_.wait_for(lock, description_patience, [this] { return described_; });
    drain_rings();
    capturing_ = false;
    capture_began_ns_ = 0;
    return described;
}

void Unwinder::hold_memory(bool held) {
    const std::scoped_lock lock(state_mutex_);
    store_->hold(held);
}

std::uint64_t Unwinder::events_lost() const {
    const std::scoped_lock lock(events_mutex_);
    return events_.lost() + events_not_kept_;
}

UnwinderStatus Unwinder::status() const {
    const std::scoped_lock lock(events_mutex_);
    UnwinderStatus status = status_;
    status.events_lost = events_.lost() + events_not_kept_;
    return status;
}

void Unwinder::note_status() {
    UnwinderStatus status;
    {
        const std::scoped_lock lock(state_mutex_);
        status.spaces = spaces_.totals();
        status.modules = modules_.totals();
        status.used_bytes = store_->used_bytes();
        status.taken_bytes = store_->taken_bytes();
        status.budget_bytes = store_->budget_bytes();
        modules_.for_each([&](const CodeModule& module) {
            if (module.state == ModuleState::Waiting) ++status.tables_waiting;
            if (module.state == ModuleState::NoRoom) ++status.tables_without_room;
            if (module.state == ModuleState::Failed && status.unreadable.size() < largest_limit)
                status.unreadable.push_back({module.path, module.problem});
            if (module.state != ModuleState::Ready) return;
            ++status.tables;
            status.table_bytes += module.table_bytes;
            status.largest.push_back({module.path, module.table_bytes});
        });
    }
    std::sort(status.largest.begin(), status.largest.end(),
              [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    status.largest.resize(std::min(status.largest.size(), largest_limit));
    const std::scoped_lock lock(events_mutex_);
    status_ = std::move(status);
}

}  // namespace lagtrap::daemon
