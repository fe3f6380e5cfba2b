#include "analysis/time_split.hpp"

#include <map>
#include <unordered_map>

#include "analysis/before_recording.hpp"
#include "analysis/block_reason.hpp"
#include "analysis/device_queue.hpp"

namespace lagtrap::analysis {

namespace {

Interval gap_of(std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t end_ns,
                Interval::Gap gap) {
    Interval interval;
    interval.tid = tid;
    interval.begin_ns = begin_ns;
    interval.end_ns = end_ns;
    interval.gap = gap;
    return interval;
}

void append(std::vector<Interval>& intervals, const Interval& interval) {
    if (interval.end_ns > interval.begin_ns) intervals.push_back(interval);
}

// The change in effect at `at_ns`: the last one at or before it.
std::vector<StateChange>::const_iterator change_at(const std::vector<StateChange>& changes,
                                                   std::uint64_t at_ns) {
    auto after = std::upper_bound(
        changes.begin(), changes.end(), at_ns,
        [](std::uint64_t at, const StateChange& change) { return at < change.at_ns; });
    return after == changes.begin() ? after : after - 1;
}

void append_recorded(const Recording& recording, const Thread& thread, Window window,
                     std::vector<Interval>& intervals) {
    const auto& changes = thread.changes;
    for (auto change = change_at(changes, window.begin_ns); change != changes.end(); ++change) {
        if (change->at_ns >= window.end_ns) break;
        const auto next = change + 1;
        const std::uint64_t until_ns = next == changes.end() ? recording.end_ns : next->at_ns;
        Interval interval;
        interval.tid = thread.tid;
        interval.begin_ns = std::max(change->at_ns, window.begin_ns);
        interval.end_ns = std::min(until_ns, window.end_ns);
        interval.since_ns = change->at_ns;
        interval.state = change->state;
        interval.stack = change->stack;
        interval.throttled = change->throttled;
        interval.yielded = change->yielded;
        interval.file = change->file;
        interval.lock = change->lock;
        interval.cpu = change->cpu;
        const bool unknown =
            change->state == ThreadState::NotRecorded || change->state == ThreadState::Exited;
        interval.gap = unknown ? Interval::Gap::Lost : Interval::Gap::None;
        if (change->state == ThreadState::Blocked && next != changes.end() && next->woken) {
            interval.woken = true;
            interval.waker_tid = next->waker_tid;
            interval.by_interrupt = next->by_interrupt;
            interval.wake_cause = next->wake_cause;
            interval.wake_device = next->wake_device;
        }
        append(intervals, interval);
    }
}

// The last time in the window at which `waker` woke `thread`; 0 if it did not.
std::uint64_t last_waking(const Thread* thread, std::uint32_t waker, Window window) {
    if (thread == nullptr) return 0;
    std::uint64_t found = 0;
    for (auto change = change_at(thread->changes, window.begin_ns); change != thread->changes.end();
         ++change) {
        if (change->at_ns >= window.end_ns) break;
        const bool by_waker = change->woken && !change->by_interrupt && change->waker_tid == waker;
        if (by_waker && change->at_ns >= window.begin_ns) found = change->at_ns;
    }
    return found;
}

struct Hit {
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;
    std::string_view marker;  // empty if unknown
};

std::vector<Hit> hits_of(const Recording& recording, const trace::Delay& delay) {
    static const std::vector<trace::EventMarker> none;
    const auto known = recording.system.markers.find(delay.event);
    const auto& markers = known != recording.system.markers.end() ? known->second : none;
    const auto marker_of = [&](const std::string& stage) -> std::string_view {
        const auto found =
            std::find_if(markers.begin(), markers.end(),
                         [&](const trace::EventMarker& marker) { return marker.stage == stage; });
        return found != markers.end() ? std::string_view(found->text) : std::string_view();
    };
    const std::uint64_t end_ns = end_of(delay);
    std::vector<Hit> hits{{delay.begin_ns, delay.begin_tid, marker_of("")}};
    for (const trace::StageTime& stage : delay.stages) {
        const std::uint64_t offset_ns = std::min(stage.offset_ns, end_ns - delay.begin_ns);
        hits.push_back({delay.begin_ns + offset_ns, stage.tid != 0 ? stage.tid : hits.back().tid,
                        stage.name.empty() ? std::string_view() : marker_of(stage.name)});
    }
    std::stable_sort(hits.begin(), hits.end(),
                     [](const Hit& a, const Hit& b) { return a.at_ns < b.at_ns; });
    hits.push_back({end_ns, delay.end_tid != 0 && !delay.open ? delay.end_tid : hits.back().tid,
                    markers.empty() ? std::string_view() : markers.back().text});
    return hits;
}

// Splits a period on no thread into its recorded part, which is like `within`, and the parts
// outside the recording.
void append_threadless(const Recording& recording, Interval within, Window window,
                       std::vector<Interval>& intervals) {
    within.begin_ns = std::clamp(recording.begin_ns, window.begin_ns, window.end_ns);
    within.end_ns = std::clamp(recording.end_ns, within.begin_ns, window.end_ns);
    append(intervals, gap_of(0, window.begin_ns, within.begin_ns, Interval::Gap::Outside));
    append(intervals, within);
    append(intervals, gap_of(0, within.end_ns, window.end_ns, Interval::Gap::Outside));
}

Interval in_queue(std::string_view queue) {
    Interval interval;
    interval.state = ThreadState::Blocked;
    interval.queue = queue;
    return interval;
}

}  // namespace

std::uint64_t end_of(const trace::Delay& delay) {
    return delay.begin_ns + std::min(delay.duration_ns, UINT64_MAX - delay.begin_ns);
}

std::string_view to_text(const Interval& interval) {
    if (interval.state == ThreadState::Exited) return "thread had ended";
    switch (interval.gap) {
        case Interval::Gap::Outside: return "outside the recording";
        case Interval::Gap::BetweenThreads: return "between its markers";
        case Interval::Gap::InGoroutine: return "in a goroutine";
        default: return "not recorded";
    }
}

std::vector<Interval> intervals_of_thread(const Recording& recording, std::uint32_t tid,
                                          Window window) {
    std::vector<Interval> intervals;
    const std::uint64_t begin_ns = std::clamp(recording.begin_ns, window.begin_ns, window.end_ns);
    const std::uint64_t end_ns = std::clamp(recording.end_ns, begin_ns, window.end_ns);
    append(intervals, gap_of(tid, window.begin_ns, begin_ns, Interval::Gap::Outside));
    const Thread* thread = recording.find_thread(tid);
    if (thread == nullptr || thread->changes.empty()) {
        append(intervals, gap_of(tid, begin_ns, end_ns, Interval::Gap::Lost));
    } else {
        append_recorded(recording, *thread, {begin_ns, end_ns}, intervals);
    }
    append(intervals, gap_of(tid, end_ns, window.end_ns, Interval::Gap::Outside));
    return intervals;
}

std::vector<Interval> intervals_of_delay(const Recording& recording, const trace::Delay& delay) {
    std::vector<Interval> intervals;
    const auto add = [&](std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t end_ns) {
        for (const Interval& interval : intervals_of_thread(recording, tid, {begin_ns, end_ns})) {
            intervals.push_back(interval);
        }
    };
    if (delay.in_go) {
        append_threadless(recording, gap_of(0, 0, 0, Interval::Gap::InGoroutine),
                          {delay.begin_ns, end_of(delay)}, intervals);
        return intervals;
    }
    const std::vector<Hit> hits = hits_of(recording, delay);
    for (std::size_t i = 1; i < hits.size(); ++i) {
        const Hit& from = hits[i - 1];
        const Hit& to = hits[i];
        if (const std::string_view queue = queue_between(from.marker, to.marker); !queue.empty()) {
            append_threadless(recording, in_queue(queue), {from.at_ns, to.at_ns}, intervals);
            continue;
        }
        if (from.tid == to.tid) {
            add(from.tid, from.at_ns, to.at_ns);
            continue;
        }
        const std::uint64_t handed_ns =
            last_waking(recording.find_thread(to.tid), from.tid, {from.at_ns, to.at_ns});
        if (handed_ns != 0) {
            add(from.tid, from.at_ns, handed_ns);
            add(to.tid, handed_ns, to.at_ns);
        } else {
            Interval between = gap_of(0, from.at_ns, to.at_ns, Interval::Gap::BetweenThreads);
            between.from_tid = from.tid;
            between.to_tid = to.tid;
            append(intervals, between);
        }
    }
    fill_in_before(recording, delay, intervals);
    return intervals;
}

std::vector<Interval> clip(const std::vector<Interval>& intervals, Window window) {
    std::vector<Interval> clipped;
    for (Interval interval : intervals) {
        interval.begin_ns = std::max(interval.begin_ns, window.begin_ns);
        interval.end_ns = std::min(interval.end_ns, window.end_ns);
        append(clipped, interval);
    }
    return clipped;
}

TimeSplit split_time(const Recording& recording, const std::vector<Interval>& intervals) {
    TimeSplit split;
    split.from_samples = !recording.has_scheduling;
    std::unordered_map<StackId, BlockedTime> by_stack;
    std::map<std::string, BlockedTime> by_reason;
    for (const Interval& interval : intervals) {
        const std::uint64_t length_ns = interval.length_ns();
        split.wall_ns += length_ns;
        std::uint64_t estimate_ns = 0;
        switch (interval.state) {
            case ThreadState::Running:
                split.on_cpu_ns += length_ns;
                if (interval.counted) split.counted.on_cpu_ns += length_ns;
                break;
            case ThreadState::Runnable:
                split.runnable_ns += length_ns;
                if (interval.counted) split.counted.runnable_ns += length_ns;
                if (interval.throttled) split.throttled_ns += length_ns;
                break;
            case ThreadState::Blocked: {
                split.blocked_ns += length_ns;
                if (interval.counted) split.counted.blocked_ns += length_ns;
                BlockedTime& blocked = interval.queue.empty()
                                           ? by_stack[interval.stack]
                                           : by_reason[std::string(interval.queue)];
                blocked.in_queue = !interval.queue.empty() && interval.tid == 0;
                blocked.total_ns += length_ns;
                if (!interval.handed_on) ++blocked.count;
                break;
            }
            case ThreadState::NotRecorded:
            case ThreadState::Exited: {
                const Thread* thread = interval.gap == Interval::Gap::Lost
                                           ? recording.find_thread(interval.tid)
                                           : nullptr;
                if (thread != nullptr) {
                    for_samples(*thread, {interval.begin_ns, interval.end_ns}, [&](const Sample&) {
                        estimate_ns += recording.sample_interval_ns();
                    });
                    estimate_ns = std::min(estimate_ns, length_ns);
                }
                split.on_cpu_ns += estimate_ns;
                split.not_recorded_ns += length_ns - estimate_ns;
                if (interval.gap == Interval::Gap::Outside) split.outside_ns += length_ns;
                if (interval.gap == Interval::Gap::BetweenThreads)
                    split.between_threads_ns += length_ns;
                if (interval.gap == Interval::Gap::InGoroutine) split.in_goroutine_ns += length_ns;
            }
        }
    }
    for (const auto& [stack, blocked] : by_stack) {
        BlockedTime& sum = by_reason[reason_of_stack(recording, stack)];
        sum.total_ns += blocked.total_ns;
        sum.count += blocked.count;
    }
    for (auto& [reason, sum] : by_reason) {
        sum.reason = reason;
        split.blocked.push_back(sum);
    }
    std::stable_sort(
        split.blocked.begin(), split.blocked.end(),
        [](const BlockedTime& a, const BlockedTime& b) { return a.total_ns > b.total_ns; });
    return split;
}

}  // namespace lagtrap::analysis
