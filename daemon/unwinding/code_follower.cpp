#include "daemon/unwinding/code_follower.hpp"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/clock.hpp"
#include "daemon/processes/process_scan.hpp"
#include "daemon/unwinding/follow_events.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds exec_time = 2ms;  // until a program that starts is mapped
constexpr auto status_interval = 100ms;

}  // namespace

CodeFollower::CodeFollower(FollowedCode& code, TaskEventLog& events, TableMakers& makers,
                           MappingIdentifier& identifier, const Wakeup& wakeup)
    : code_(code),
      events_(events),
      makers_(makers),
      identifier_(identifier),
      wakeup_(wakeup),
      thread_([this] { work(); }) {}

CodeFollower::~CodeFollower() {
    wakeup_.notify();
    thread_.join();
}

void CodeFollower::work() {
    (void)::pthread_setname_np(::pthread_self(), "follower");
    start_over();
    auto last_status = Clock::now() - status_interval;
    FollowPauses pauses;
    while (!code_.stopping) {
        heartbeat_.beat();
        std::uint64_t capture_ns = events_.take_capture_to_describe();
        auto [events, some_lost] = events_.take_ordered();
        if (scan_if_needed(some_lost)) {
            if (some_lost) events = RecordBuffer();
            // The capture's log lacks the lost events, so the result of the scan replaces them.
            if (capture_ns == 0 && events_.is_capturing()) capture_ns = monotonic_ns();
        }
        pauses.note(!events.empty());
        take(events, capture_ns);
        code_.mapped_files.done();
        const bool making = publish();
        if (const auto now = Clock::now(); now - last_status >= status_interval) {
            note_status();
            last_status = now;
        }
        wait_for_work(pauses.next(events_.is_capturing(), making, code_.mapped_files.wants_any()));
    }
}

void CodeFollower::wait_for_work(std::chrono::milliseconds pause) const {
    const auto look_after = Clock::now() + FollowPauses::min_mapping;
    std::array<pollfd, 2> wakeups{pollfd{wakeup_.fd(), POLLIN, 0},
                                  pollfd{events_.wakeup_fd(), POLLIN, 0}};
    (void)::poll(wakeups.data(), events_.is_capturing() ? 1 : 2, static_cast<int>(pause.count()));
    if (wakeups[0].revents == 0 && wakeups[1].revents != 0) {
        const auto rest = std::chrono::ceil<std::chrono::milliseconds>(look_after - Clock::now());
        (void)::poll(wakeups.data(), 1, static_cast<int>(std::max(rest, exec_time).count()));
    }
    wakeup_.clear();
}

void CodeFollower::take(const RecordBuffer& events, std::uint64_t capture_ns) {
    const std::scoped_lock lock(code_.mutex);
    events.for_each([&](const lagtrap_record* record) {
        if (capture_ns != 0 && record->at_ns >= capture_ns) describe(std::exchange(capture_ns, 0));
        code_.spaces.take(record);
        code_.mapped_files.take(record);
    });
    if (capture_ns != 0) describe(capture_ns);
}

void CodeFollower::describe(std::uint64_t at_ns) {
    RecordBuffer mappings;
    not_described_ += code_.spaces.describe(at_ns, mappings);
    events_.add_description(at_ns, mappings);
}

bool CodeFollower::publish() {
    const std::scoped_lock lock(code_.mutex);
    code_.spaces.publish();
    code_.has_published.notify_all();
    identifier_.notify();
    if (code_.modules.waiting() > 0) makers_.notify();
    makers_.raise_priority_of_late_tables();
    if (const auto now = Clock::now(); now - last_sweep_ >= FollowPauses::idle) {
        code_.spaces.note_users();
        code_.spaces.look_again_at_unread();
        code_.modules.sweep(now);
        last_sweep_ = now;
    }
    return makers_.at_work() || code_.modules.waiting() > 0;
}

void CodeFollower::scan() {
    scans_.wanted.store(true);
    wakeup_.notify();
}

bool CodeFollower::scan_if_needed(bool some_lost) {
    scans_.due = scans_.due || some_lost;
    const auto began = Clock::now();
    const bool may_scan = scans_.due && scans_.budget.may_scan(began);
    if (!scans_.wanted.exchange(false) && !may_scan) return false;
    start_over();
    scans_.budget.charge(Clock::now() - began);
    return std::exchange(scans_.due, false);
}

// Reads everything again from /proc: at the start, and after events were lost. One process at a
// time, which limits the memory.
void CodeFollower::start_over() {
    {
        const std::scoped_lock lock(code_.mutex);
        code_.spaces.begin_scan();
        code_.mapped_files.begin_scan();
    }
    for (const std::uint32_t pid : list_processes("/proc")) {
        if (code_.stopping) return;
        const auto process = code_.inspector.read(pid, ProcessInspector::Code::Read, {});
        heartbeat_.beat();
        const std::scoped_lock lock(code_.mutex);
        if (!process) {
            code_.spaces.note_unread(pid);
            continue;
        }
        code_.spaces.take(*process);
        process->records.for_each(
            [this](const lagtrap_record* record) { code_.mapped_files.take(record); });
    }
    const std::scoped_lock lock(code_.mutex);
    code_.spaces.end_scan();
    code_.mapped_files.end_scan();
    ++scans_.done;
}

void CodeFollower::note_status() {
    UnwinderStatus status;
    {
        const std::scoped_lock lock(code_.mutex);
        status.spaces = code_.spaces.totals();
        status.tables_waiting = status.spaces.files_waiting + code_.modules.tables_to_come();
        status.modules = code_.modules.totals();
        status.unreadable.assign(code_.modules.unreadable().begin(),
                                 code_.modules.unreadable().end());
        status.used_bytes = code_.store->used_bytes();
        status.taken_bytes = code_.store->taken_bytes();
        status.budget_bytes = code_.store->budget_bytes();
        note_tables(code_.modules, status);
    }
    status.scans = scans_.done;
    status.not_described = not_described_;
    const std::scoped_lock lock(status_mutex_);
    status_ = std::move(status);
}

UnwinderStatus CodeFollower::status() const {
    const std::scoped_lock lock(status_mutex_);
    return status_;
}

}  // namespace lagtrap::daemon
