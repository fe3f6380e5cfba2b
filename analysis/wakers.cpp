#include "analysis/wakers.hpp"

#include <algorithm>
#include <map>

#include "analysis/before_recording.hpp"
#include "analysis/interruptions.hpp"
#include "analysis/parts.hpp"
#include "analysis/thread_name.hpp"
#include "analysis/wait_chain.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::size_t waker_limit = 3;

}  // namespace

ThreadName name_with_unit(const Recording& recording, const trace::Delay& delay,
                          std::uint32_t tid) {
    ThreadName name = name_thread(recording, delay, tid);
    name.unit = recording.unit_of(name.pid);
    return name;
}

WaitEnd end_of_wait(const Recording& recording, const Interval& wait, WaitKind kind) {
    if (!wait.woken) return wait.end_ns >= recording.end_ns ? WaitEnd::NotYet : WaitEnd::Unknown;
    if (!ended_by_nobody(recording, wait)) return WaitEnd::Thread;
    if (kind == WaitKind::Sleep || wait.wake_cause == WakeCause::Timeout) return WaitEnd::Timeout;
    return wait.by_interrupt ? WaitEnd::Interrupt : WaitEnd::Unknown;
}

void find_wakers(const Recording& recording, const trace::Delay& delay, const IntervalGroup& group,
                 ThreadDoing& doing) {
    std::map<WaitEnd, std::uint64_t> ends;
    std::map<WakeCause, std::uint64_t> interrupts;
    std::map<std::uint32_t, std::uint64_t> wakers;
    std::map<Interruption, std::uint64_t> interruptions;
    for (const Interval& wait : group.intervals) {
        const WaitEnd end = end_of_wait(recording, wait, group.wait);
        doing.likely = doing.likely || wait.likely;
        ends[end] += wait.length_ns();
        if (end == WaitEnd::Thread) wakers[wait.waker_tid] += wait.length_ns();
        if (end == WaitEnd::Thread)
            interruptions[interruption_of(recording, wait)] += wait.length_ns();
        if (end == WaitEnd::Interrupt) interrupts[wait.wake_cause] += wait.length_ns();
    }
    std::uint64_t max_ns = 0;
    for (const auto& [end, time_ns] : ends) {
        if (time_ns > max_ns) doing.end = end;
        max_ns = std::max(max_ns, time_ns);
    }
    for (const auto& [cause, time_ns] : interrupts)
        if (time_ns * 2 > ends[WaitEnd::Interrupt]) doing.interrupt = cause;
    for (const auto& [interruption, time_ns] : interruptions)
        if (time_ns * 2 > ends[WaitEnd::Thread]) doing.interruption = interruption;
    for (const auto& [tid, time_ns] : wakers)
        doing.wakers.push_back({name_with_unit(recording, delay, tid), time_ns});
    doing.waker_count = static_cast<std::uint32_t>(wakers.size());
    std::stable_sort(
        doing.wakers.begin(), doing.wakers.end(),
        [](const ThreadTime& a, const ThreadTime& b) { return a.time_ns > b.time_ns; });
    if (doing.wakers.empty()) return;
    const auto is_known = [](const Interval& wait) {
        return wait.lock != 0 || (wait.outlasting && !wait.likely);
    };
    for (const Interval& wait : group.intervals) {
        if (wait.waker_tid != doing.wakers.front().who.tid) continue;
        doing.outlasts = wait.outlasting;
        doing.timed_out = wait.timed_out;
        if (wait.signaller_tid == 0) continue;
        doing.interruption = wait.killed ? Interruption::Killed : Interruption::Signal;
        doing.interrupter = name_with_unit(recording, delay, wait.signaller_tid);
    }
    const auto is_turn = [](const Interval& wait) { return wait.handed_on; };
    doing.object_known = std::all_of(group.intervals.begin(), group.intervals.end(), is_known);
    if (std::any_of(group.intervals.begin(), group.intervals.end(), is_turn))
        doing.turns = doing.waker_count;
    const ThreadName& first = doing.wakers.front().who;
    if (doing.turns > 0 && doing.wakers.front().time_ns * 2 >= group.time_ns) {
        doing.alike_ns = doing.wakers.front().time_ns;
        doing.wakers.resize(std::min(doing.wakers.size(), waker_limit));
        return;
    }
    for (const ThreadTime& waker : doing.wakers) {
        if (!are_alike(waker.who, first, group.wait == WaitKind::Child)) continue;
        doing.alike_ns += waker.time_ns;
        if (waker.who.tid != first.tid) ++doing.alike;
    }
    if (doing.wakers.size() > waker_limit) doing.wakers.resize(waker_limit);
}

}  // namespace lagtrap::analysis
