#include "analysis/kernel_workers.hpp"

#include <algorithm>
#include <string_view>

namespace lagtrap::analysis {

namespace {

bool is_worker(const Recording& recording, const Thread& thread) {
    return std::string_view(recording.name(thread.name)).starts_with("kworker/") &&
           is_kernel_thread(recording, thread.tid);
}

std::uint64_t busy_ns(const Recording& recording, const Thread& worker, const Interval& wait) {
    std::uint64_t sum_ns = 0;
    for (const Interval& interval :
         intervals_of_thread(recording, worker.tid, {wait.begin_ns, wait.end_ns}))
        if (interval.state == ThreadState::Running || interval.state == ThreadState::Runnable)
            sum_ns += interval.length_ns();
    return sum_ns;
}

// The end of the worker's last wait within `wait`; nullptr if there is none.
const StateChange* last_work_given(const Thread& worker, const Interval& wait) {
    const auto after =
        std::partition_point(worker.changes.begin(), worker.changes.end(),
                             [&](const StateChange& one) { return one.at_ns <= wait.end_ns; });
    for (auto change = after; change != worker.changes.begin();) {
        --change;
        if (change->at_ns <= wait.begin_ns) return nullptr;
        if (change->state == ThreadState::Runnable && change->woken) return &*change;
    }
    return nullptr;
}

}  // namespace

// Kernel threads are children of kthreadd, which is always process 2.
bool is_kernel_thread(const Recording& recording, std::uint32_t tid) {
    const Thread* thread = recording.find_thread(tid);
    if (thread == nullptr) return false;
    const auto process = recording.processes.find(thread->pid);
    return process != recording.processes.end() && process->second.parent_pid == 2;
}

void blame_givers_of_work(const Recording& recording, std::vector<Interval>& intervals) {
    for (Interval& wait : intervals) {
        if (wait.state != ThreadState::Blocked || !wait.woken || wait.by_interrupt ||
            wait.waker_tid == 0)
            continue;
        const Thread* const worker = recording.find_thread(wait.waker_tid);
        if (worker == nullptr || !is_worker(recording, *worker)) continue;
        const StateChange* const given = last_work_given(*worker, wait);
        if (given == nullptr || given->waker_tid == wait.tid ||
            busy_ns(recording, *worker, wait) * 2 > wait.length_ns())
            continue;
        const bool by_thread = !given->by_interrupt && given->waker_tid != 0;
        if (by_thread && is_kernel_thread(recording, given->waker_tid)) continue;
        wait.waker_tid = given->waker_tid;
        wait.by_interrupt = given->by_interrupt;
        wait.wake_cause = given->wake_cause;
        wait.wake_device = given->wake_device;
    }
}

}  // namespace lagtrap::analysis
