#include "analysis/delay_timeline.hpp"

#include <algorithm>
#include <unordered_map>

#include "analysis/block_reason.hpp"
#include "analysis/time_split.hpp"
#include "analysis/wait_chain.hpp"

namespace lagtrap::analysis {

namespace {

TimeKind kind_of(ThreadState state) {
    switch (state) {
        case ThreadState::Running: return TimeKind::OnCpu;
        case ThreadState::Runnable: return TimeKind::Runnable;
        case ThreadState::Blocked: return TimeKind::Blocked;
        default: return TimeKind::Unknown;
    }
}

class TimelineMaker {
  public:
    TimelineMaker(const Recording& recording, DelayTimeline& timeline)
        : recording_(recording), timeline_(timeline) {}

    void add(const Interval& interval) {
        TimelineInterval shown;
        shown.from_ns = interval.begin_ns - timeline_.begin_ns;
        shown.to_ns = interval.end_ns - timeline_.begin_ns;
        shown.kind = kind_of(interval.state);
        shown.tid = interval.tid;
        if (shown.kind == TimeKind::Unknown) shown.reason = to_text(interval);
        if (shown.kind == TimeKind::Blocked) {
            shown.stack = interval.stack;
            shown.reason = reason_of(interval.stack);
            if (!ended_by_nobody(recording_, interval)) shown.waker = waker_of(interval.waker_tid);
        }
        if (const Thread* thread = recording_.find_thread(interval.tid); thread != nullptr) {
            for_samples(*thread, {interval.begin_ns, interval.end_ns}, [&](const Sample& sample) {
                if (!shown.cpu) shown.cpu = sample.cpu;
                timeline_.samples.push_back({sample.at_ns - timeline_.begin_ns, sample.stack});
            });
        }
        timeline_.intervals.push_back(std::move(shown));
    }

  private:
    const std::string& reason_of(StackId stack) {
        const auto [known, added] = reasons_.try_emplace(stack);
        if (added) known->second = reason_of_stack(recording_, stack);
        return known->second;
    }

    [[nodiscard]] TimelineWaker waker_of(std::uint32_t tid) const {
        const Thread* thread = recording_.find_thread(tid);
        if (thread == nullptr) return {};
        return {recording_.process_name(thread->pid), recording_.name(thread->name)};
    }

    const Recording& recording_;
    DelayTimeline& timeline_;
    std::unordered_map<StackId, std::string> reasons_;
};

std::vector<TimelineInterval> join_short(const std::vector<TimelineInterval>& intervals,
                                         std::uint64_t min_ns) {
    std::vector<TimelineInterval> joined;
    bool last_is_short = false;
    for (const TimelineInterval& interval : intervals) {
        const bool is_short = interval.to_ns - interval.from_ns < min_ns;
        if (is_short && last_is_short) {
            TimelineInterval both;
            both.from_ns = joined.back().from_ns;
            both.to_ns = interval.to_ns;
            both.reason = "too short to show";
            joined.back() = std::move(both);
        } else {
            joined.push_back(interval);
        }
        last_is_short = is_short;
    }
    return joined;
}

void limit_intervals(DelayTimeline& timeline, std::size_t limit) {
    const std::vector<TimelineInterval> all = std::move(timeline.intervals);
    timeline.intervals = all;
    for (std::uint64_t min_ns = 1000; timeline.intervals.size() > limit; min_ns *= 2) {
        timeline.intervals = join_short(all, min_ns);
    }
    timeline.dropped += all.size() - timeline.intervals.size();
}

void limit_samples(DelayTimeline& timeline, std::size_t limit) {
    const std::size_t count = timeline.samples.size();
    if (count <= limit) return;
    for (std::size_t i = 0; i < limit; ++i)
        timeline.samples[i] = timeline.samples[i * count / limit];
    timeline.samples.resize(limit);
    timeline.dropped += count - limit;
}

}  // namespace

DelayTimeline timeline_of_delay(const Recording& recording, const trace::Delay& delay,
                                std::size_t limit) {
    DelayTimeline timeline;
    timeline.begin_ns = delay.begin_ns;
    timeline.end_ns = end_of(delay);
    TimelineMaker maker(recording, timeline);
    for (const Interval& interval : intervals_of_delay(recording, delay)) maker.add(interval);
    limit = std::max<std::size_t>(limit, 1);
    limit_intervals(timeline, limit);
    limit_samples(timeline, limit);
    return timeline;
}

}  // namespace lagtrap::analysis
