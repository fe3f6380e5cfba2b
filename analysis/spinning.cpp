#include "analysis/spinning.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>

#include "analysis/parts.hpp"
#include "analysis/program_path.hpp"
#include "analysis/sightings.hpp"
#include "analysis/spin_kind.hpp"

namespace lagtrap::analysis {

namespace {

constexpr std::ptrdiff_t min_samples = 3;
// Locks and atomic waits of libraries yield a few times before they sleep.
constexpr std::ptrdiff_t min_yields = 8;
// Such a loop also runs for an instant if there is nothing to wait for.
constexpr std::ptrdiff_t min_loop_samples = 16;
// A holder that releases its lock on another CPU runs until the release. Allow for the time the
// spinner needs to notice it.
constexpr std::uint64_t release_slack_ns = 1'000'000;
constexpr std::size_t spins_looked_at = 200;

struct SpinSighting {
    std::uint64_t at_ns = 0;
    StackId stack = 0;
    SpinKind spin = SpinKind::None;
    bool yielded = false;  // rather than sampled
};

// Finds where one thread spun in periods in which it never blocked.
class SpinMarker {
  public:
    explicit SpinMarker(const Recording& recording) : recording_(recording) {}

    // `stretch` is of one thread and has no gaps.
    void mark(const std::vector<Interval>& stretch, std::vector<Interval>& marked) {
        seen_.clear();
        const Thread* thread = recording_.find_thread(stretch.front().tid);
        if (thread != nullptr) {
            for_samples(
                *thread, {stretch.front().begin_ns, stretch.back().end_ns},
                [&](const Sample& sample) {
                    seen_.push_back({sample.at_ns, sample.stack, kind_of(sample.stack), false});
                });
        }
        for (const Interval& interval : stretch)
            if (interval.yielded)
                seen_.push_back({interval.begin_ns, interval.stack, SpinKind::Yield, true});
        std::stable_sort(
            seen_.begin(), seen_.end(),
            [](const SpinSighting& a, const SpinSighting& b) { return a.at_ns < b.at_ns; });
        join_the_loop();
        drop_short_ones();
        for (const Interval& interval : stretch) cut(interval, marked);
    }

  private:
    SpinKind kind_of(StackId stack) {
        const auto [known, added] = kinds_.try_emplace(stack);
        if (added) known->second = spin_of_stack(recording_, stack);
        return known->second;
    }

    // A yielding loop is also seen between two calls, in the function that contains the loop, or in
    // a smaller loop there.
    void join_the_loop() {
        const auto is_loop_of = [&](const SpinSighting& one, StackId spin) {
            const ProgramPath loop = program_path(recording_, spin);
            const ProgramPath path = program_path(recording_, one.stack);
            // A loop calls nothing: what seems called, such as std::atomic's load, is inlined.
            const bool called = path.called && one.spin != SpinKind::LockWord;
            return !loop.steps.empty() && !called && !path.steps.empty() &&
                   key_of(recording_.frames[path.steps.back()]) ==
                       key_of(recording_.frames[loop.steps.back()]);
        };
        std::map<std::pair<StackId, StackId>, bool> known;
        const auto joins = [&](const SpinSighting& one, const SpinSighting& spin) {
            if (spin.spin == SpinKind::None || spin.spin == SpinKind::KernelLock ||
                spin.spin == SpinKind::LockWord)
                return false;
            if (spin.spin == SpinKind::Memory && one.spin != SpinKind::LockWord) return false;
            const auto [answer, added] = known.try_emplace({one.stack, spin.stack});
            if (added) answer->second = is_loop_of(one, spin.stack);
            return answer->second;
        };
        const auto is_open = [](const SpinSighting& one) {
            return one.spin == SpinKind::None || one.spin == SpinKind::Memory ||
                   one.spin == SpinKind::LockWord;
        };
        for (std::size_t i = 1; i < seen_.size(); ++i)
            if (is_open(seen_[i]) && joins(seen_[i], seen_[i - 1]))
                seen_[i].spin = seen_[i - 1].spin;
        for (std::size_t i = seen_.size(); i-- > 1;)
            if (is_open(seen_[i - 1]) && joins(seen_[i - 1], seen_[i]))
                seen_[i - 1].spin = seen_[i].spin;
    }

    void drop_short_ones() {
        for (auto from = seen_.begin(); from != seen_.end();) {
            const auto to = std::find_if(
                from, seen_.end(), [&](const SpinSighting& one) { return one.spin != from->spin; });
            const bool loop = from->spin == SpinKind::Memory || from->spin == SpinKind::LockWord;
            const auto yields =
                std::count_if(from, to, [](const SpinSighting& one) { return one.yielded; });
            const bool enough = yields >= min_yields ||
                                to - from - yields >= (loop ? min_loop_samples : min_samples);
            if (!enough)
                for (auto one = from; one != to; ++one) one->spin = SpinKind::None;
            from = to;
        }
    }

    // The boundary between two sightings is the midpoint.
    void cut(Interval interval, std::vector<Interval>& marked) const {
        auto next = std::lower_bound(
            seen_.begin(), seen_.end(), interval.begin_ns,
            [](const SpinSighting& one, std::uint64_t at) { return one.at_ns < at; });
        if (next != seen_.begin()) --next;
        const std::uint64_t end_ns = interval.end_ns;
        for (; next != seen_.end() && interval.begin_ns < end_ns; ++next) {
            const auto after = next + 1;
            const std::uint64_t until_ns =
                after == seen_.end() ? end_ns : next->at_ns + (after->at_ns - next->at_ns) / 2;
            if (until_ns <= interval.begin_ns) continue;
            const bool goes_on = after != seen_.end() && after->spin == next->spin;
            if (goes_on && until_ns < end_ns) continue;
            interval.end_ns = std::min(until_ns, end_ns);
            interval.spin = next->spin;
            marked.push_back(interval);
            interval.begin_ns = interval.end_ns;
        }
        interval.end_ns = end_ns;
        interval.spin = SpinKind::None;
        if (interval.begin_ns < end_ns) marked.push_back(interval);
    }

    const Recording& recording_;
    std::vector<SpinSighting> seen_;
    std::unordered_map<StackId, SpinKind> kinds_;
};

bool may_spin(const Interval& interval) {
    const bool on_queue =
        interval.state == ThreadState::Running || interval.state == ThreadState::Runnable;
    return on_queue && !interval.counted && !interval.throttled && interval.tid != 0;
}

// What one thread did while another one spun.
class HolderWitness {
  public:
    HolderWitness(const Recording& recording, const Thread& thread)
        : recording_(recording), thread_(thread) {}

    // When it last ran in the window; nullopt if it did not.
    [[nodiscard]] std::optional<std::uint64_t> ran_until(Window window) const {
        std::optional<std::uint64_t> until;
        for (const Interval& interval : intervals_of_thread(recording_, thread_.tid, window))
            if (interval.state == ThreadState::Running) until = interval.end_ns;
        return until;
    }

    // True if it was in one function throughout, and outside of it afterwards.
    [[nodiscard]] bool left_function_after(Window window) const {
        const std::vector<FunctionKey> common = common_path(recording_, sightings(window));
        const auto later = sightings({window.end_ns, window.end_ns + max_look_ns});
        if (common.empty() || later.empty()) return false;
        const auto steps = program_path(recording_, later.front().stack).steps;
        return std::none_of(steps.begin(), steps.end(), [&](std::uint32_t step) {
            return key_of(recording_.frames[step]) == common.back();
        });
    }

    [[nodiscard]] bool spun_in(Window window) const {
        const auto seen = sightings(window);
        const auto spins = std::count_if(seen.begin(), seen.end(), [&](const ThreadSighting& one) {
            return spin_of_stack(recording_, one.stack) != SpinKind::None;
        });
        return spins > 0 && is_most(static_cast<std::uint64_t>(spins), seen.size());
    }

  private:
    static constexpr std::uint64_t max_look_ns = 1'000'000'000;

    [[nodiscard]] std::vector<ThreadSighting> sightings(Window window) const {
        return sightings_of(recording_, thread_, window);
    }

    const Recording& recording_;
    const Thread& thread_;
};

std::uint32_t holder_of_spin(const Recording& recording, const Thread& spinner, Window window) {
    std::vector<std::uint32_t> ran, left;
    std::uint32_t last_tid = 0;
    std::uint64_t last_ns = 0;
    for (const Thread& thread : recording.threads) {
        if (thread.pid != spinner.pid || thread.tid == spinner.tid) continue;
        const HolderWitness witness(recording, thread);
        const auto until_ns = witness.ran_until(window);
        if (!until_ns || witness.spun_in(window)) continue;
        if (*until_ns >= last_ns) {
            last_ns = *until_ns;
            last_tid = thread.tid;
        }
        if (*until_ns + release_slack_ns < window.end_ns) continue;
        ran.push_back(thread.tid);
        if (witness.left_function_after(window)) left.push_back(thread.tid);
    }
    if (left.size() == 1) return left.front();
    if (ran.size() > 1) return 0;
    return last_tid;
}

// Joins periods that were split, also where the thread waited for a CPU.
std::vector<Interval> joined(const std::vector<Interval>& spins) {
    std::vector<Interval> whole;
    for (const Interval& spin : spins) {
        if (!whole.empty() && whole.back().tid == spin.tid && whole.back().end_ns == spin.begin_ns)
            whole.back().end_ns = spin.end_ns;
        else
            whole.push_back(spin);
    }
    return whole;
}

// Whether another thread was in a function meanwhile and left it before it last stopped running.
// The spinning thread may notice that later, if it waits for a CPU.
bool is_held(const Recording& recording, const Interval& loop) {
    const Thread* thread = recording.find_thread(loop.tid);
    if (thread == nullptr) return false;
    const Window window{loop.begin_ns, loop.end_ns};
    const Thread* holder = recording.find_thread(holder_of_spin(recording, *thread, window));
    if (holder == nullptr) return false;
    const HolderWitness witness(recording, *holder);
    const std::uint64_t until_ns = witness.ran_until(window).value_or(window.end_ns);
    return witness.left_function_after({window.begin_ns, until_ns - 1});
}

// Without a probable holder, a loop on a lock word may just take it.
void drop_unheld_locks(const Recording& recording, std::vector<Interval>& intervals) {
    std::vector<Interval> loops;
    std::copy_if(intervals.begin(), intervals.end(), std::back_inserter(loops),
                 [](const Interval& one) { return one.spin == SpinKind::LockWord; });
    std::size_t looked_at = 0;
    for (const Interval& loop : joined(loops)) {
        if (looked_at++ < spins_looked_at && is_held(recording, loop)) continue;
        for (Interval& one : intervals)
            if (one.tid == loop.tid && one.begin_ns >= loop.begin_ns && one.end_ns <= loop.end_ns)
                one.spin = SpinKind::None;
    }
}

}  // namespace

void mark_spinning(const Recording& recording, std::vector<Interval>& intervals) {
    std::vector<Interval> marked;
    marked.reserve(intervals.size());
    SpinMarker marker(recording);
    for (std::size_t from = 0; from < intervals.size();) {
        std::size_t to = from + 1;
        if (!may_spin(intervals[from])) {
            marked.push_back(intervals[from]);
            from = to;
            continue;
        }
        while (to < intervals.size() && may_spin(intervals[to]) &&
               intervals[to].tid == intervals[from].tid &&
               intervals[to].begin_ns == intervals[to - 1].end_ns)
            ++to;
        marker.mark({intervals.begin() + static_cast<std::ptrdiff_t>(from),
                     intervals.begin() + static_cast<std::ptrdiff_t>(to)},
                    marked);
        from = to;
    }
    intervals = std::move(marked);
    drop_unheld_locks(recording, intervals);
}

std::uint32_t likely_spin_holder(const Recording& recording, const std::vector<Interval>& spins) {
    std::map<std::uint32_t, std::uint64_t> holders;
    std::uint64_t whole_ns = 0;
    std::vector<Interval> stretches = joined(spins);
    std::stable_sort(stretches.begin(), stretches.end(), [](const Interval& a, const Interval& b) {
        return a.length_ns() > b.length_ns();
    });
    if (stretches.size() > spins_looked_at) stretches.resize(spins_looked_at);
    for (const Interval& spin : stretches) {
        whole_ns += spin.length_ns();
        const Thread* thread = recording.find_thread(spin.tid);
        if (thread == nullptr || spin.spin == SpinKind::KernelLock) continue;
        holders[holder_of_spin(recording, *thread, {spin.begin_ns, spin.end_ns})] +=
            spin.length_ns();
    }
    for (const auto& [tid, time_ns] : holders)
        if (is_most(time_ns, whole_ns)) return tid;
    return 0;
}

}  // namespace lagtrap::analysis
