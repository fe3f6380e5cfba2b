#include "analysis/wait_groups.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/awaited_threads.hpp"
#include "analysis/program_path.hpp"
#include "analysis/sightings.hpp"
#include "analysis/spin_kind.hpp"
#include "analysis/spinning.hpp"

namespace lagtrap::analysis {

namespace {

UnknownTime unknown_because(const Recording& recording, const Interval& interval) {
    if (interval.state == ThreadState::Exited) return UnknownTime::ThreadEnded;
    switch (interval.gap) {
        case Interval::Gap::Outside:
            return interval.begin_ns < recording.begin_ns ? UnknownTime::BeforeRecording
                                                          : UnknownTime::AfterRecording;
        case Interval::Gap::BetweenThreads: return UnknownTime::BetweenThreads;
        case Interval::Gap::InGoroutine: return UnknownTime::InGoroutine;
        default: return UnknownTime::NotRecorded;
    }
}

std::string to_text(UnknownTime unknown, const Interval& interval) {
    switch (unknown) {
        case UnknownTime::BeforeRecording: return "before the recording";
        case UnknownTime::AfterRecording: return "after the recording";
        default: return std::string(to_text(interval));
    }
}

class Grouping {
  public:
    Grouping(const Recording& recording, std::vector<Interval> intervals) : recording_(recording) {
        mark_spinning(recording, intervals);
        for (const Interval& interval : intervals) take(interval);
    }

    // Longest first.
    std::vector<IntervalGroup> sorted() {
        std::vector<IntervalGroup> list;
        for (auto& [key, group] : groups_) {
            forget_needless_guesses(group.intervals);
            list.push_back(std::move(group));
        }
        std::stable_sort(
            list.begin(), list.end(),
            [](const IntervalGroup& a, const IntervalGroup& b) { return a.time_ns > b.time_ns; });
        return list;
    }

  private:
    struct Reason {
        std::string text;
        WaitKind wait = WaitKind::Other;
        BlockReason block = BlockReason::Unknown;
        UnknownTime unknown = UnknownTime::NotRecorded;
    };
    // The text counts only where no reason is known: the function, or the class of a wait before
    // the recording.
    using Key =
        std::tuple<TimeKind, UnknownTime, bool, SpinKind, WaitKind, BlockReason, std::string>;

    void take(const Interval& interval) {
        if (interval.spin != SpinKind::None) {
            add(TimeKind::OnCpu, {std::string(to_text(interval.spin))}, interval,
                interval.length_ns());
            return;
        }
        switch (interval.state) {
            case ThreadState::Running:
                add(TimeKind::OnCpu, {}, interval, interval.length_ns());
                break;
            case ThreadState::Runnable:
                add(TimeKind::Runnable, {interval.throttled ? "CPU quota" : ""}, interval,
                    interval.length_ns());
                break;
            case ThreadState::Blocked:
                add(TimeKind::Blocked, reason_of(interval), interval, interval.length_ns());
                break;
            case ThreadState::NotRecorded:
            case ThreadState::Exited: take_unknown(interval); break;
        }
    }

    // Where switches were lost, samples show that the thread ran.
    void take_unknown(const Interval& interval) {
        const std::uint64_t on_cpu_ns = split_time(recording_, {interval}).on_cpu_ns;
        if (on_cpu_ns > 0) add(TimeKind::OnCpu, {}, interval, on_cpu_ns);
        if (on_cpu_ns == interval.length_ns()) return;
        const UnknownTime unknown = unknown_because(recording_, interval);
        add(TimeKind::Unknown,
            {to_text(unknown, interval), WaitKind::Other, BlockReason::Unknown, unknown}, interval,
            interval.length_ns() - on_cpu_ns);
    }

    // From the stack or, for waits before the recording, from the wait class. Without a stack, a
    // wait that a disk ended was for the disk.
    Reason reason_of(const Interval& interval) {
        if (interval.tid != 0 && !interval.queue.empty()) {
            const BlockReason block = find_block_reason(interval.queue);
            return {std::string(interval.queue), facts_of(block).kind, block};
        }
        if (interval.stack == 0 && interval.woken && interval.wake_cause == WakeCause::Disk) {
            const BlockReasonFacts& facts = facts_of(BlockReason::Disk);
            return {std::string(facts.name), facts.kind, facts.reason};
        }
        return reason_of(interval.stack);
    }

    const Reason& reason_of(StackId stack) {
        const auto [known, added] = reasons_.try_emplace(stack);
        if (added) {
            known->second.text = reason_of_stack(recording_, stack);
            known->second.wait = wait_kind_of(recording_, stack);
            known->second.block = block_reason_of(recording_, stack);
        }
        return known->second;
    }

    void add(TimeKind kind, const Reason& reason, const Interval& interval, std::uint64_t time_ns) {
        const bool throttled = kind == TimeKind::Runnable && interval.throttled;
        const bool by_text = kind == TimeKind::Blocked && reason.block == BlockReason::Unknown;
        IntervalGroup& group = groups_[{kind, reason.unknown, throttled, interval.spin, reason.wait,
                                        reason.block, by_text ? reason.text : std::string()}];
        group.kind = kind;
        group.unknown = reason.unknown;
        group.throttled = throttled;
        group.wait = reason.wait;
        group.spin = interval.spin;
        group.block = reason.block;
        group.reason = reason.text;
        group.time_ns += time_ns;
        group.intervals.push_back(interval);
    }

    const Recording& recording_;
    std::map<StackId, Reason> reasons_;
    std::map<Key, IntervalGroup> groups_;
};

// Waits whose holder may differ from place to place.
bool may_differ_by_place(const IntervalGroup& group) {
    if (group.kind != TimeKind::Blocked || group.block == BlockReason::Frozen) return false;
    switch (group.wait) {
        case WaitKind::Lock:
        case WaitKind::ReadWriteLock:
        case WaitKind::Signal:
        case WaitKind::Semaphore:
        case WaitKind::Once:
        case WaitKind::ThreadEnd:
        case WaitKind::Futex:
        case WaitKind::KernelLock:
        case WaitKind::FileLock:
        case WaitKind::DatabaseLock:
        case WaitKind::RowLock:
        case WaitKind::Pipe:
        case WaitKind::LocalSocket:
        case WaitKind::Network:
        case WaitKind::Child:
        case WaitKind::Events:
        case WaitKind::Sleep: return true;
        default: return false;
    }
}

class PlaceSplitter {
  public:
    explicit PlaceSplitter(const Recording& recording) : recording_(recording) {}

    void split(IntervalGroup group, std::vector<IntervalGroup>& out) {
        std::map<std::optional<FunctionKey>, std::uint64_t> times;
        if (may_differ_by_place(group))
            for (const Interval& wait : group.intervals) times[place_of(wait)] += wait.length_ns();
        const auto is_large = [&](const auto& place) { return place.second * 6 >= group.time_ns; };
        const auto count = std::count_if(times.begin(), times.end(), is_large);
        const bool has_unknown = times.contains(std::nullopt);
        if (count < 2 || count > 3 || has_unknown) return out.push_back(std::move(group));
        const auto longest =
            std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
            })->first;
        std::map<std::optional<FunctionKey>, IntervalGroup> parts;
        for (const Interval& wait : group.intervals) {
            const auto place = place_of(wait);
            IntervalGroup& part = parts[is_large(*times.find(place)) ? place : longest];
            part.time_ns += wait.length_ns();
            part.intervals.push_back(wait);
        }
        for (auto& [place, part] : parts) {
            std::swap(part.intervals, group.intervals);
            IntervalGroup whole = group;
            whole.time_ns = part.time_ns;
            out.push_back(std::move(whole));
        }
    }

  private:
    // nullopt if no function of the program is known.
    std::optional<FunctionKey> place_of(const Interval& wait) {
        const auto [known, added] = places_.try_emplace(wait.stack);
        if (!added) return known->second;
        const ProgramPath path = program_path(recording_, wait.stack);
        if (path.steps.empty()) return known->second;
        const Frame& frame = recording_.frames[path.steps.back()];
        if (!frame.kernel) known->second = key_of(frame);
        return known->second;
    }

    const Recording& recording_;
    std::map<StackId, std::optional<FunctionKey>> places_;
};

}  // namespace

std::vector<IntervalGroup> groups_of(const Recording& recording, std::vector<Interval> intervals) {
    return Grouping(recording, std::move(intervals)).sorted();
}

std::vector<IntervalGroup> split_by_place(const Recording& recording,
                                          std::vector<IntervalGroup> groups) {
    std::vector<IntervalGroup> split;
    PlaceSplitter splitter(recording);
    for (IntervalGroup& group : groups) splitter.split(std::move(group), split);
    std::stable_sort(
        split.begin(), split.end(),
        [](const IntervalGroup& a, const IntervalGroup& b) { return a.time_ns > b.time_ns; });
    return split;
}

}  // namespace lagtrap::analysis
