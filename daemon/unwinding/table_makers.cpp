#include "daemon/unwinding/table_makers.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "binaries/reader/file_reader.hpp"
#include "core/disk_time.hpp"
#include "daemon/unwinding/follow_events.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto publish_interval = 20ms;

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

TableMakers::TableMakers(FollowedCode& code, const TaskEventLog& events, const Wakeup& follower,
                         std::optional<binaries::UnwindCache> cache)
    : code_(code), events_(events), follower_(follower), cache_(std::move(cache)) {
    for (std::size_t i = 0; i < count; ++i)
        threads_[i] = std::thread([this, i] { work(makers_[i]); });
}

TableMakers::~TableMakers() {
    { const std::scoped_lock lock(code_.mutex); }
    notify();
    for (std::thread& thread : threads_) thread.join();
}

bool TableMakers::at_work() const {
    return std::any_of(makers_.begin(), makers_.end(),
                       [](const Maker& maker) { return maker.since.has_value(); });
}

void TableMakers::raise_priority_of_late_tables() {
    const auto now = Clock::now();
    for (const Maker& maker : makers_) {
        if (!maker.cpu_before_job || !TablePriority::is_late(now - *maker.since)) continue;
        const auto cpu_time = cpu_time_of(maker.thread, maker.cpu_clock) - *maker.cpu_before_job;
        set_making_priority(maker.thread,
                            TablePriority::of_late(code_.modules.had_much(maker.user), cpu_time));
    }
}

MadeTable TableMakers::make(const Maker& maker, TableJob job, bool patient) {
    if (cache_ && !job.build_id.empty())
        if (auto known = load_table(job, *cache_)) return std::move(*known);
    if (auto failed = open_for(job, code_.inspector)) return std::move(*failed);
    if (cache_)
        if (auto known = load_table(job, *cache_)) return std::move(*known);
    if (patient) set_making_priority(maker.thread, TablePriority::lowest);
    MadeTable made = make_table(std::move(job), cache_ ? &*cache_ : nullptr);
    set_making_priority(maker.thread, TablePriority::normal);
    return made;
}

void TableMakers::work(Maker& maker) {
    use_least_disk_time();
    set_priority(own_thread(), 0);
    std::unique_lock lock(code_.mutex);
    maker.thread = own_thread();
    (void)::pthread_getcpuclockid(::pthread_self(), &maker.cpu_clock);
    auto last_publish = Clock::now();
    while (!code_.stopping) {
        auto job = code_.modules.next_job();
        if (!job) {
            maker.since.reset();
            to_maker_.wait(lock);
            continue;
        }
        const auto began = Clock::now();
        if (!maker.since) maker.since = began;
        maker.cpu_before_job = cpu_time_of(maker.thread, maker.cpu_clock);
        maker.user = job->request.user;
        const bool patient =
            TablePriority::is_patient(began - *maker.since, job->request.watched,
                                      events_.is_capturing(), code_.modules.had_much(maker.user));
        lock.unlock();
        MadeTable made = make(maker, std::move(*job), patient);
        lock.lock();
        maker.cpu_before_job.reset();
        code_.modules.take(std::move(made));
        notify();  // the same user's next table may be made now
        const auto now = Clock::now();
        if (code_.modules.waiting() > 0 && now - last_publish < publish_interval) continue;
        last_publish = now;
        follower_.notify();
    }
}

}  // namespace lagtrap::daemon
