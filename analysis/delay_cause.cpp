#include "analysis/delay_cause.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/awaited_threads.hpp"
#include "analysis/before_recording.hpp"
#include "analysis/block_reason.hpp"
#include "analysis/child_ends.hpp"
#include "analysis/lock_sharers.hpp"
#include "analysis/lock_turns.hpp"
#include "analysis/parts.hpp"
#include "analysis/sightings.hpp"
#include "analysis/thread_doing.hpp"
#include "analysis/wait_chain.hpp"
#include "analysis/wait_groups.hpp"
#include "analysis/wakers.hpp"

namespace lagtrap::analysis {

namespace {

// Intervals examined, over all links of all chains of a delay.
constexpr std::uint64_t visit_limit = 1'000'000;
constexpr std::size_t reported_limit = 3;

bool is_wait(const IntervalGroup& group) {
    return group.kind == TimeKind::Blocked || group.spin != SpinKind::None;
}

// Finds the causes of one delay.
class CauseSearch {
  public:
    CauseSearch(const Recording& recording, const trace::Delay& delay)
        : recording_(recording), delay_(delay) {}

    DelayCause cause_of(const IntervalGroup& group) {
        DelayCause cause;
        cause.doing = doing_of(group);
        cause.doing.polls =
            group.wait == WaitKind::Sleep && is_polling(recording_, group.intervals);
        std::set<std::uint32_t> known;
        for (const Interval& interval : group.intervals) known.insert(interval.tid);
        IntervalGroup waits = group;
        ThreadDoing doing = cause.doing;
        bool is_likely = false;
        while (const Thread* next = followed(doing, known)) {
            known.insert(next->tid);
            const Thread* const ended_by = next;
            if (const Thread* creator = creator_of_late(*ended_by, waits);
                creator != nullptr && known.insert(creator->tid).second)
                next = creator;
            std::vector<IntervalGroup> groups =
                groups_of(recording_, meanwhile(waits, *ended_by, *next));
            cause.chain.push_back(link_of(*next, doing.wakers.front().time_ns, groups));
            if (next != ended_by) {
                cause.chain.back().started = name_of(ended_by->tid);
                cause.chain.back().started_after_ns =
                    ended_by->creation.at_ns - first_ended_by(*ended_by, waits.intervals).begin_ns;
            }
            cause.chain.back().alike = doing.alike;
            cause.chain.back().likely = is_likely = is_likely || doing.likely;
            cause.chain.back().began_after_ns = began_after(*next, waits.intervals);
            cause.chain.back().request = other_request_of(next->tid, waits_for(waits, next->tid));
            if (const auto& did = cause.chain.back().doings;
                waits.wait == WaitKind::ReadWriteLock && !did.empty())
                cause.chain.back().sharers =
                    other_threads_in(recording_, did.front().focus.place, waits.intervals, *next);
            if (waits.spin != SpinKind::None)
                cause.chain.back().operation = operation_of(recording_, *next, waits.window());
            if (groups.empty() || !is_wait(groups.front()) || cause.chain.back().is_late()) break;
            if (groups.front().time_ns * 2 < cause.chain.back().whole_ns) break;
            waits = std::move(groups.front());
            doing = cause.chain.back().doings.front();
        }
        return cause;
    }

    void add_hand_overs(const IntervalGroup& group, DelayCause& cause) const {
        for (const Interval& gap : group.intervals)
            cause.hand_overs.push_back({name_of(gap.from_tid), name_of(gap.to_tid),
                                        gap.begin_ns - delay_.begin_ns,
                                        gap.end_ns - delay_.begin_ns});
    }

    // The goroutine's own work, and that of those it may wait for.
    void add_work_of_process(const IntervalGroup& group, DelayCause& cause) {
        IntervalGroup work;
        work.kind = TimeKind::OnCpu;
        for (const Thread& thread : recording_.threads) {
            if (thread.pid != delay_.begin_pid) continue;
            for (const Interval& gap : group.intervals) {
                if (visited_ > visit_limit) return;
                for (const Interval& interval :
                     intervals_of_thread(recording_, thread.tid, {gap.begin_ns, gap.end_ns})) {
                    ++visited_;
                    if (interval.state != ThreadState::Running) continue;
                    work.time_ns += interval.length_ns();
                    work.intervals.push_back(interval);
                }
            }
        }
        cause.of_process.kind = TimeKind::OnCpu;
        cause.of_process.time_ns = work.time_ns;
        if (work.time_ns > 0) find_place(recording_, delay_, work, cause.of_process);
    }

    // For a run handed over at an unknown time: what the thread that ended it did, if that was
    // work.
    void add_receiver(const IntervalGroup& group, std::uint32_t tid, DelayCause& cause) {
        const Thread* thread = recording_.find_thread(tid);
        if (thread == nullptr) return;
        std::vector<Interval> intervals;
        for (const Interval& gap : group.intervals) {
            for (Interval& interval :
                 intervals_of_thread(recording_, tid, {gap.begin_ns, gap.end_ns}))
                intervals.push_back(interval);
        }
        const std::vector<IntervalGroup> groups = groups_of(recording_, intervals);
        if (groups.empty() || groups.front().kind == TimeKind::Unknown) return;
        cause.chain.push_back(link_of(*thread, group.time_ns, groups));
    }

    [[nodiscard]] ThreadName name_of(std::uint32_t tid) const {
        return name_with_unit(recording_, delay_, tid);
    }

  private:
    ThreadDoing doing_of(const IntervalGroup& group) {
        ThreadDoing doing = doing_in(recording_, delay_, group);
        if (!doing.cpu.holders.empty())
            find_place_of_holder(group.intervals, doing.cpu.holders.front());
        return doing;
    }

    // What the thread on the CPU was computing in the meantime, and for which request.
    void find_place_of_holder(const std::vector<Interval>& waits, CpuHolder& holder) {
        std::vector<Interval> intervals;
        std::vector<Window> times;
        for (const Interval& wait : waits) {
            if (visited_ > visit_limit) return;
            for (Interval& interval :
                 intervals_of_thread(recording_, holder.tid, {wait.begin_ns, wait.end_ns})) {
                ++visited_;
                if (interval.state != ThreadState::Running) continue;
                times.push_back({interval.begin_ns, interval.end_ns});
                intervals.push_back(interval);
            }
        }
        holder.request = other_request_of(holder.tid, times);
        CallTree tree(recording_);
        tree.add(StackTimes::of(recording_, intervals, split_time(recording_, intervals)));
        const CallFocus focus = find_focus(tree);
        holder.function = focus.place.function;
        holder.caller = focus.direct_caller;
    }

    // The thread that most of the waits were for; nullptr if there is none, or if it is already in
    // the chain.
    [[nodiscard]] const Thread* followed(const ThreadDoing& doing,
                                         const std::set<std::uint32_t>& known) const {
        if (doing.wakers.empty() || known.size() > wait_chain_depth) return nullptr;
        if (doing.interruption != Interruption::None && !doing.outlasts) return nullptr;
        if (doing.wait == WaitKind::NoGoroutine) return nullptr;
        // Whoever cut a sleep short, such as a debugger that attached, was not waited for.
        if (doing.wait == WaitKind::Sleep && !doing.outlasts && !doing.likely) return nullptr;
        const ThreadTime& most = doing.wakers.front();
        // If one thread alone ended any of the waits, the others timed out, such as the first part
        // of a wait for an answer.
        const bool alone = doing.turns > 0 || doing.waker_count == 1;
        const bool had_half = alone && most.time_ns * 2 >= doing.time_ns;
        if ((!had_half && !is_most(doing.alike_ns, doing.time_ns)) || known.contains(most.who.tid))
            return nullptr;
        return recording_.find_thread(most.who.tid);
    }

    [[nodiscard]] bool is_for(const Interval& wait, const IntervalGroup& waits,
                              std::uint32_t waker) const {
        return waits.spin != SpinKind::None ||
               (wait.waker_tid == waker &&
                end_of_wait(recording_, wait, waits.wait) == WaitEnd::Thread);
    }

    // The thread that started `thread` after most of the wait that `thread` ended, such as a server
    // that starts a thread or process for each connection; nullptr if there is none.
    [[nodiscard]] const Thread* creator_of_late(const Thread& thread,
                                                const IntervalGroup& waits) const {
        if (thread.creation.creator_tid == 0 || !is_answered(waits.wait)) return nullptr;
        const Interval& wait = first_ended_by(thread, waits.intervals);
        const std::uint64_t at_ns =
            thread.creation.at_ns;  // perhaps of a later thread of that number
        if (at_ns < wait.begin_ns + wait.length_ns() / 2 || at_ns > wait.end_ns) return nullptr;
        const Thread* const creator = recording_.find_thread(thread.creation.creator_tid);
        if (creator == nullptr) return nullptr;
        const bool is_same_program = creator->pid == thread.pid ||
                                     name_of(creator->tid).process == name_of(thread.tid).process;
        return is_same_program ? creator : nullptr;
    }

    [[nodiscard]] static const Interval& first_ended_by(const Thread& thread,
                                                        const std::vector<Interval>& waits) {
        const auto first = std::find_if(waits.begin(), waits.end(), [&](const Interval& wait) {
            return wait.waker_tid == thread.tid;
        });
        return first == waits.end() ? waits.front() : *first;
    }

    // What `doer` did during the waits that `waker` ended; if it created the waker, until then.
    std::vector<Interval> meanwhile(const IntervalGroup& waits, const Thread& waker,
                                    const Thread& doer) {
        std::vector<Interval> intervals;
        for (const Interval& wait : waits.intervals) {
            if (!is_for(wait, waits, waker.tid)) continue;
            if (visited_ > visit_limit) break;
            const std::uint64_t end_ns =
                &doer == &waker ? wait.end_ns : std::min(wait.end_ns, waker.creation.at_ns);
            if (end_ns <= wait.begin_ns) continue;
            for (Interval& interval :
                 intervals_of_thread(recording_, doer.tid, {wait.begin_ns, end_ns})) {
                intervals.push_back(interval);
                ++visited_;
            }
        }
        find_awaited(recording_, intervals, delay_.run_id != 0);
        return by_holder(recording_, intervals);
    }

    [[nodiscard]] std::optional<RequestPart> other_request_of(
        std::uint32_t tid, const std::vector<Window>& times) const {
        auto part = request_of(recording_, tid, times);
        if (part && is_run_of(delay_, part->request)) return std::nullopt;
        return part;
    }

    [[nodiscard]] std::vector<Window> waits_for(const IntervalGroup& waits,
                                                std::uint32_t tid) const {
        std::vector<Window> times;
        for (const Interval& wait : waits.intervals)
            if (is_for(wait, waits, tid)) times.push_back({wait.begin_ns, wait.end_ns});
        return times;
    }

    // Time from the first of the waits that the thread ended to the start of its process; 0 if it
    // already existed.
    [[nodiscard]] std::uint64_t began_after(const Thread& thread,
                                            const std::vector<Interval>& waits) const {
        const auto process = recording_.processes.find(thread.pid);
        if (process == recording_.processes.end()) return 0;
        const std::uint64_t at_ns = first_ended_by(thread, waits).begin_ns;
        const std::uint64_t started_ns = process->second.started_ns;
        return started_ns > std::max(at_ns, recording_.begin_ns) ? started_ns - at_ns : 0;
    }

    CauseLink link_of(const Thread& thread, std::uint64_t whole_ns,
                      const std::vector<IntervalGroup>& groups) {
        CauseLink link;
        link.who = name_of(thread.tid);
        link.whole_ns = whole_ns;
        for (const IntervalGroup& group : groups) {
            const bool is_long = group.time_ns * 6 >= whole_ns;
            const bool is_work_of_waiter = group.kind == TimeKind::OnCpu && !link.doings.empty() &&
                                           link.doings.front().kind == TimeKind::Runnable;
            if (link.doings.size() == 2 || (!is_long && !is_work_of_waiter)) continue;
            ThreadDoing doing = doing_of(group);
            if (is_long || doing.focus.has_place()) link.doings.push_back(std::move(doing));
        }
        KernelWorkTimes works;
        std::uint64_t known_ns = 0;
        for (const ThreadDoing& doing : link.doings) {
            works.add(doing.work, doing.work_ns);
            if (doing.kind == TimeKind::OnCpu || doing.kind == TimeKind::Blocked)
                known_ns += doing.time_ns;
        }
        const auto [work, work_ns] = works.longest(known_ns);
        if (is_most(work_ns, known_ns)) link.work = work;
        return link;
    }

    const Recording& recording_;
    const trace::Delay& delay_;
    std::uint64_t visited_ = 0;
};

}  // namespace

bool ends_by_device(const ThreadDoing& doing) {
    const WaitKind wait = doing.wait;
    return wait == WaitKind::Disk || wait == WaitKind::PageFault || wait == WaitKind::Sleep ||
           wait == WaitKind::Stopped || wait == WaitKind::Memory || wait == WaitKind::GroupMemory ||
           wait == WaitKind::CpuLimit || doing.block == BlockReason::RcuGracePeriod;
}

std::size_t DelayCauses::reported() const {
    std::size_t count = 0;
    while (count < std::min(causes.size(), reported_limit) &&
           (count == 0 || causes[count].doing.time_ns * 20 >= wall_ns)) {
        ++count;
    }
    return count;
}

std::string goroutine_words(const trace::Delay& delay) {
    return delay.goroutine == 0 ? "goroutines" : "goroutine " + std::to_string(delay.goroutine);
}

DelayCauses causes_of_delay(const Recording& recording, const trace::Delay& delay) {
    DelayCauses result;
    CauseSearch search(recording, delay);
    const GroupMemory& memory = recording.group_memory;
    if (memory.pid == delay.begin_pid)
        result.group = {memory, recording.name(memory.path),
                        recording.process_name(memory.filler_pid)};
    result.request = request_of_delay(recording, delay);
    if (!delay.in_go) result.who = search.name_of(delay.begin_tid);
    if (delay.in_go)
        result.who = {delay.begin_pid, 0, delay.process, goroutine_words(delay),
                      recording.unit_of(delay.begin_pid)};
    if (result.who.pid == 0) {
        result.who.pid = delay.begin_pid;
        result.who.unit = recording.unit_of(delay.begin_pid);
    }
    std::vector<Interval> intervals = intervals_of_delay(recording, delay);
    join_repeated_waits(recording, intervals);
    find_awaited(recording, intervals, delay.run_id != 0);
    intervals = by_holder(recording, intervals);
    for (const Interval& interval : intervals) result.wall_ns += interval.length_ns();
    for (const IntervalGroup& group : split_by_place(recording, groups_of(recording, intervals))) {
        result.causes.push_back(search.cause_of(group));
        const bool handed_over =
            group.kind == TimeKind::Unknown && group.unknown == UnknownTime::BetweenThreads;
        const bool in_goroutine =
            group.kind == TimeKind::Unknown && group.unknown == UnknownTime::InGoroutine;
        if (in_goroutine) search.add_work_of_process(group, result.causes.back());
        if (handed_over) search.add_hand_overs(group, result.causes.back());
        if (handed_over && !delay.open && delay.end_tid != delay.begin_tid)
            search.add_receiver(group, delay.end_tid, result.causes.back());
    }
    return result;
}

}  // namespace lagtrap::analysis
