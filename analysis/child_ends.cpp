#include "analysis/child_ends.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "analysis/block_reason.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::size_t few_sleeps = 3, many_sleeps = 20;
constexpr std::uint64_t visited_limit = 100'000;

// 0 if the thread ended by itself, or if that is unknown.
std::uint32_t ender_of(const Recording& recording, const Thread& thread) {
    for (auto change = thread.changes.rbegin(); change != thread.changes.rend(); ++change) {
        if (!change->woken) continue;
        const bool killed = change->wake_cause == WakeCause::Killed && !change->by_interrupt;
        const Thread* const ender = killed ? recording.find_thread(change->waker_tid) : nullptr;
        return ender != nullptr && ender->pid == thread.pid ? ender->tid : 0;
    }
    return 0;
}

bool is_sleep(const Recording& recording, const Interval& wait) {
    return wait.state == ThreadState::Blocked && wait.stack != 0 && wait.woken &&
           wait.wake_cause == WakeCause::Timeout &&
           wait_kind_of(recording, wait.stack) == WaitKind::Sleep;
}

// The only child process that existed at the first sleep and ended during the last; 0 if there are
// several or none.
std::uint32_t child_that_ended(const Recording& recording, std::uint32_t pid, const Interval& first,
                               const Interval& last) {
    std::uint32_t found = 0;
    for (const auto& [child_pid, process] : recording.processes) {
        if (process.parent_pid != pid || child_pid == pid) continue;
        const Thread* const child = recording.find_thread(child_pid);
        if (child == nullptr || child->changes.empty()) continue;
        const StateChange& end = child->changes.back();
        if (child->changes.front().at_ns > first.end_ns || process.started_ns > first.end_ns)
            continue;
        const bool ended_then = end.state == ThreadState::Exited && end.at_ns > last.begin_ns &&
                                end.at_ns <= last.end_ns;
        if (!ended_then) continue;
        if (found != 0) return 0;
        found = child_pid;
    }
    return found;
}

}  // namespace

void blame_enders_of_children(const Recording& recording, std::vector<Interval>& intervals) {
    for (Interval& wait : intervals) {
        if (wait.state != ThreadState::Blocked || wait.stack == 0 || !wait.woken) continue;
        if (wait.by_interrupt || wait.waker_tid == 0) continue;
        const Thread* const waiting = recording.find_thread(wait.tid);
        const Thread* const waker = recording.find_thread(wait.waker_tid);
        if (waiting == nullptr || waker == nullptr || waker->pid == waiting->pid) continue;
        if (wait_kind_of(recording, wait.stack) != WaitKind::Child) continue;
        if (const std::uint32_t ender = ender_of(recording, *waker); ender != 0)
            wait.waker_tid = ender;
    }
}

void blame_polled_children(const Recording& recording, std::vector<Interval>& intervals) {
    std::map<StackId, std::vector<Interval*>> loops;
    for (Interval& wait : intervals)
        if (is_sleep(recording, wait)) loops[wait.stack].push_back(&wait);
    for (const auto& [stack, sleeps] : loops) {
        if (sleeps.size() < few_sleeps) continue;
        const Thread* const thread = recording.find_thread(sleeps.front()->tid);
        if (thread == nullptr || sleeps.back()->tid != thread->tid) continue;
        const std::uint32_t child =
            child_that_ended(recording, thread->pid, *sleeps.front(), *sleeps.back());
        if (child == 0) continue;
        for (Interval* const sleep : sleeps) {
            sleep->set_waker(child);
            sleep->outlasting = sleep->timed_out = sleep->likely = true;
        }
    }
}

bool is_polling(const Recording& recording, const std::vector<Interval>& sleeps) {
    if (sleeps.size() < many_sleeps || sleeps.size() > visited_limit) return false;
    const auto timed_out = [](const Interval& sleep) {
        return sleep.timed_out || sleep.wake_cause == WakeCause::Timeout;
    };
    if (!std::all_of(sleeps.begin(), sleeps.end(), timed_out)) return false;
    const std::uint32_t tid = sleeps.front().tid;
    if (tid == 0 || tid != sleeps.back().tid) return false;
    std::uint64_t slept_ns = 0, ran_ns = 0;
    for (const Interval& sleep : sleeps) slept_ns += sleep.length_ns();
    const Window whole{sleeps.front().begin_ns, sleeps.back().end_ns};
    for (const Interval& interval : intervals_of_thread(recording, tid, whole))
        if (interval.state == ThreadState::Running) ran_ns += interval.length_ns();
    return ran_ns * 10 < slept_ns;
}

}  // namespace lagtrap::analysis
