#include "analysis/before_recording.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "analysis/block_reason.hpp"

namespace lagtrap::analysis {
namespace {

// By lagtrap_wait_class.
constexpr std::array<BlockReason, LAGTRAP_WAIT_CLASSES> reasons{
    BlockReason::InKernel,       BlockReason::Futex,        BlockReason::Events,
    BlockReason::Input,          BlockReason::Output,       BlockReason::Socket,
    BlockReason::Sleep,          BlockReason::ChildProcess, BlockReason::FileLock,
    BlockReason::Semaphore,      BlockReason::Disk,         BlockReason::PageFault,
    BlockReason::StoppedOrFrozen};

// What remains to be placed. The thread ran in the rest of the time: nothing else is counted.
struct Sums {
    std::uint64_t throttled_ns = 0, runnable_ns = 0;  // the latter without the former
    std::array<std::uint64_t, LAGTRAP_WAIT_CLASSES> blocked_ns{};
};

void take_off(std::uint64_t& sum, std::uint64_t part) { sum -= std::min(sum, part); }

std::span<const EarlierWait> earlier_waits_of(const Recording& recording, std::uint32_t tid) {
    const auto& waits = recording.earlier_waits;
    const auto begin = std::partition_point(waits.begin(), waits.end(),
                                            [&](const auto& wait) { return wait.tid < tid; });
    const auto end =
        std::partition_point(begin, waits.end(), [&](const auto& wait) { return wait.tid == tid; });
    return {begin, end};
}

class Filler {
  public:
    // `tid` is the thread of `parts`; 0 if they are those of each thread between its own markers.
    Filler(const Recording& recording, const trace::TimeParts& parts, std::uint32_t tid,
           Window window)
        : recording_(recording),
          tid_(tid),
          filled_tid_(tid),
          begin_ns_(std::min(window.begin_ns, window.end_ns)),
          end_ns_(window.end_ns) {
        const std::uint64_t throttled_ns = std::min(parts.throttled_ns, parts.runnable_ns);
        sums_ = {throttled_ns, parts.runnable_ns - throttled_ns, parts.blocked_ns};
    }

    void place(const trace::Delay& delay) {
        for (const auto& wait : delay.so_far.waits) place(delay.begin_ns + wait.offset_ns, wait);
        for (const EarlierWait& wait : earlier_waits_of(recording_, tid_)) place_earlier(wait);
        std::sort(waits_.begin(), waits_.end(),
                  [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    }

    [[nodiscard]] bool fills(const Interval& interval) const {
        return interval.gap == Interval::Gap::Outside && interval.tid != 0 &&
               (tid_ == 0 || interval.tid == tid_) && interval.begin_ns < end_ns_ &&
               interval.end_ns > begin_ns_;
    }

    // Limits the time to fill to the part of the window in these intervals.
    void share_over(const std::vector<Interval>& intervals) {
        to_fill_ns_ = 0;
        for (const Interval& interval : intervals)
            if (fills(interval))
                to_fill_ns_ +=
                    std::min(interval.end_ns, end_ns_) - std::max(interval.begin_ns, begin_ns_);
    }

    // Subtracts what the recording has for the time until the counters were read.
    void forget_recorded(const std::vector<Interval>& recorded) {
        for (const Interval& interval : recorded) {
            const std::uint64_t length_ns = interval.length_ns();
            if (interval.state == ThreadState::Runnable)
                take_off(interval.throttled ? sums_.throttled_ns : sums_.runnable_ns, length_ns);
            // The wait in progress when the recording began is cut when it is placed. The class of
            // others is unknown here.
            if (interval.state == ThreadState::Blocked && interval.begin_ns > end_ns_)
                forget_blocked(length_ns);
        }
    }

    // The pieces of one interval, without gaps.
    [[nodiscard]] std::vector<Interval> pieces(const Interval& outside) {
        std::vector<Interval> result;
        filled_tid_ = outside.tid;
        std::uint64_t at_ns = std::max(outside.begin_ns, begin_ns_);
        const std::uint64_t end_ns = std::min(outside.end_ns, end_ns_);
        add(result, outside, outside.begin_ns, at_ns);
        for (const Interval& wait : waits_) {
            if (wait.end_ns <= at_ns || wait.begin_ns >= end_ns) continue;
            const std::uint64_t from_ns = std::max(wait.begin_ns, at_ns);
            fill(result, at_ns, from_ns, end_ns);
            add(result, wait, from_ns, std::min(wait.end_ns, end_ns));
            at_ns = std::min(wait.end_ns, end_ns);
        }
        fill(result, at_ns, end_ns, end_ns);
        add(result, outside, end_ns, outside.end_ns);
        return result;
    }

  private:
    static void add(std::vector<Interval>& to, Interval interval, std::uint64_t begin_ns,
                    std::uint64_t end_ns) {
        interval.begin_ns = begin_ns;
        interval.end_ns = end_ns;
        if (end_ns > begin_ns) to.push_back(interval);
    }

    [[nodiscard]] Interval in_state(ThreadState state) const {
        Interval interval;
        interval.tid = filled_tid_;
        interval.state = state;
        interval.counted = true;
        return interval;
    }

    void place(std::uint64_t at_ns, const trace::RunSoFar::Wait& known) {
        Interval wait = in_state(ThreadState::Blocked);
        wait.queue = reason_of_class(known.wait_class);
        wait.begin_ns = std::max({at_ns, begin_ns_, waits_.empty() ? 0 : waits_.back().end_ns});
        wait.end_ns = at_ns + known.length_ns;
        // The part after the recording's begin is recorded: subtract it from the sum, but keep it
        // as an interval.
        take_off(
            sums_.blocked_ns[std::min<std::size_t>(known.wait_class, LAGTRAP_WAIT_CLASSES - 1)],
            known.length_ns);
        if (wait.end_ns <= end_ns_) note_waker(wait, known);
        wait.end_ns = std::min(wait.end_ns, end_ns_);
        if (wait.end_ns > wait.begin_ns) waits_.push_back(wait);
    }

    // Places a wait recorded with its stack: either one of the longest, or an additional one.
    void place_earlier(const EarlierWait& earlier) {
        const std::uint64_t begin_ns = std::max(earlier.begin_ns, begin_ns_),
                            end_ns = std::min(earlier.end_ns, end_ns_);
        if (end_ns <= begin_ns) return;
        auto known = std::find_if(waits_.begin(), waits_.end(), [&](const Interval& wait) {
            return wait.begin_ns < end_ns && begin_ns < wait.end_ns;
        });
        if (known == waits_.end()) {
            Interval wait = in_state(ThreadState::Blocked);
            wait.begin_ns = begin_ns;
            wait.end_ns = end_ns;
            forget_reason(reason_of_stack(recording_, earlier.stack), end_ns - begin_ns);
            if (earlier.stack == 0) return;
            waits_.push_back(wait);
            known = waits_.end() - 1;
        }
        known->woken = true;
        known->waker_tid = earlier.waker_tid;
        known->by_interrupt = earlier.by_interrupt;
        if (earlier.stack == 0) return;
        known->stack = earlier.stack;
        known->queue = {};
        known->counted = false;
    }

    void forget_reason(std::string_view reason, std::uint64_t length_ns) {
        const auto place = std::find(reasons.begin(), reasons.end(), find_block_reason(reason));
        if (place == reasons.end()) return forget_blocked(length_ns);
        take_off(sums_.blocked_ns[static_cast<std::size_t>(place - reasons.begin())], length_ns);
    }

    static void note_waker(Interval& wait, const trace::RunSoFar::Wait& known) {
        if (known.waker == LAGTRAP_WAKER_UNKNOWN) return;
        wait.woken = true;
        wait.by_interrupt = known.waker != LAGTRAP_WAKER_THREAD;
        if (!wait.by_interrupt) wait.waker_tid = known.waker_tid;
        const bool own_timer = wait.by_interrupt && known.wait_class == LAGTRAP_WAIT_SLEEP;
        wait.wake_cause = own_timer           ? WakeCause::Timeout
                          : wait.by_interrupt ? WakeCause::Interrupt
                                              : WakeCause::Thread;
    }

    void forget_blocked(std::uint64_t length_ns) {
        take_off(*std::max_element(sums_.blocked_ns.begin(), sums_.blocked_ns.end()), length_ns);
    }

    [[nodiscard]] std::uint64_t unplaced_from(std::uint64_t at_ns, std::uint64_t end_ns) const {
        if (to_fill_ns_ != UINT64_MAX) return to_fill_ns_;
        std::uint64_t unplaced_ns = end_ns - std::min(at_ns, end_ns);
        for (const Interval& wait : waits_) {
            const std::uint64_t from_ns = std::max(wait.begin_ns, at_ns),
                                until_ns = std::min(wait.end_ns, end_ns);
            if (until_ns > from_ns) unplaced_ns -= until_ns - from_ns;
        }
        return unplaced_ns;
    }

    // Distributes the rest of the sums over a period, in proportion to its share of the time still
    // to be placed.
    void fill(std::vector<Interval>& result, std::uint64_t begin_ns, std::uint64_t end_ns,
              std::uint64_t last_ns) {
        if (end_ns <= begin_ns) return;
        const double part =
            static_cast<double>(end_ns - begin_ns) /
            static_cast<double>(std::max<std::uint64_t>(unplaced_from(begin_ns, last_ns), 1));
        std::uint64_t at_ns = begin_ns;
        const auto take = [&](std::uint64_t& sum, const Interval& as) {
            const auto share_ns = std::min<std::uint64_t>(
                {static_cast<std::uint64_t>(static_cast<double>(sum) * part), sum, end_ns - at_ns});
            add(result, as, at_ns, at_ns + share_ns);
            at_ns += share_ns;
            sum -= share_ns;
        };
        for (std::size_t i = 0; i < sums_.blocked_ns.size(); ++i) {
            Interval blocked = in_state(ThreadState::Blocked);
            blocked.queue = reason_of_class(static_cast<std::uint32_t>(i));
            take(sums_.blocked_ns[i], blocked);
        }
        Interval throttled = in_state(ThreadState::Runnable);
        throttled.throttled = true;
        take(sums_.throttled_ns, throttled);
        take(sums_.runnable_ns, in_state(ThreadState::Runnable));
        add(result, in_state(ThreadState::Running), at_ns, end_ns);
        if (to_fill_ns_ != UINT64_MAX) take_off(to_fill_ns_, end_ns - begin_ns);
    }

    const Recording& recording_;
    std::uint32_t tid_;
    std::uint32_t filled_tid_;
    std::uint64_t begin_ns_, end_ns_;
    std::uint64_t to_fill_ns_ = UINT64_MAX;  // UINT64_MAX: the whole window except the waits
    Sums sums_;
    std::vector<Interval> waits_;  // by begin, not overlapping
};

void fill_in(Filler& filler, std::vector<Interval>& intervals) {
    std::vector<Interval> filled;
    for (const Interval& interval : intervals) {
        if (!filler.fills(interval)) {
            filled.push_back(interval);
            continue;
        }
        for (const Interval& piece : filler.pieces(interval)) filled.push_back(piece);
    }
    intervals = std::move(filled);
}

// A wait in progress when the recording began continues in the recording, where its end is known:
// join the two parts.
void join_with_recorded(std::vector<Interval>& intervals) {
    for (std::size_t i = 1; i < intervals.size(); ++i) {
        Interval &before = intervals[i - 1], &after = intervals[i];
        const bool one = before.state == ThreadState::Blocked && before.counted &&
                         !before.queue.empty() && after.state == ThreadState::Blocked &&
                         after.queue.empty() && before.tid == after.tid &&
                         before.end_ns == after.begin_ns;
        if (!one) continue;
        after.begin_ns = before.begin_ns;
        before.end_ns = before.begin_ns;
        if (after.stack != 0) continue;
        after.queue = before.queue;
        after.counted = true;
    }
    std::erase_if(intervals, [](const Interval& interval) { return interval.length_ns() == 0; });
}

}  // namespace

std::string_view reason_of_class(std::uint32_t wait_class) {
    const bool is_known = wait_class < reasons.size();
    return facts_of(is_known ? reasons[wait_class] : reasons[LAGTRAP_WAIT_OTHER]).name;
}

std::uint32_t wait_classes() { return static_cast<std::uint32_t>(reasons.size()); }

ThreadName name_thread(const Recording& recording, const trace::Delay& delay, std::uint32_t tid) {
    ThreadName name;
    name.tid = tid;
    if (const Thread* thread = recording.find_thread(tid); thread != nullptr) {
        name.pid = thread->pid;
        name.thread = recording.name(thread->name);
    }
    for (const trace::RunSoFar::Wait& wait : delay.so_far.waits) {
        if (tid == 0 || !name.thread.empty()) break;
        if (wait.waker != LAGTRAP_WAKER_THREAD || wait.waker_tid != tid) continue;
        name.pid = wait.waker_pid;
        name.thread = wait.waker_thread;
    }
    if (name.pid != 0) name.process = recording.process_name(name.pid);
    return name;
}

void fill_in_before(const Recording& recording, const trace::Delay& delay,
                    std::vector<Interval>& intervals) {
    if (!delay.so_far.known() || delay.in_go) return;
    const std::uint64_t recorded_from_ns = std::max(recording.begin_ns, delay.begin_ns);
    const std::uint64_t until_ns = delay.begin_ns + delay.so_far.until_offset_ns;
    const std::uint64_t from_ns = delay.begin_ns + delay.so_far.from_offset_ns;
    Filler filler(recording, delay.so_far, delay.so_far.tid,
                  {from_ns, std::min(recorded_from_ns, until_ns)});
    filler.place(delay);
    if (until_ns > recorded_from_ns)
        filler.forget_recorded(clip(intervals, {recorded_from_ns, until_ns}));
    fill_in(filler, intervals);
    if (delay.so_far.earlier.total_ns() > 0) {
        const std::uint64_t begin_ns = delay.begin_ns + delay.queued_ns;
        Filler earlier(recording, delay.so_far.earlier, 0,
                       {begin_ns, std::min(recorded_from_ns, from_ns)});
        earlier.share_over(intervals);
        fill_in(earlier, intervals);
    }
    join_with_recorded(intervals);
}

}  // namespace lagtrap::analysis
