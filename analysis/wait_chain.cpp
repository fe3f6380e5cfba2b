#include "analysis/wait_chain.hpp"

#include <algorithm>

#include "analysis/block_reason.hpp"
#include "analysis/interruptions.hpp"
#include "analysis/kernel_workers.hpp"
#include "analysis/lock_turns.hpp"
#include "analysis/socket_owners.hpp"

namespace lagtrap::analysis {

namespace {

// Intervals examined for a whole run (some seconds of the busiest machine), and places that waits
// lead to.
constexpr std::uint64_t visit_limit = 1'000'000;
constexpr std::size_t position_limit = 100'000;

}  // namespace

bool ended_by_nobody(const Recording& recording, const Interval& wait) {
    if (!wait.woken || wait.by_interrupt || wait.waker_tid == 0) return true;
    const BlockReasonFacts& facts = facts_of(block_reason_of(recording, wait.stack));
    // A thread that frees memory waits for writeback, or for a while. A kernel thread is not what
    // held it up.
    if (facts.kind == WaitKind::Memory || facts.kind == WaitKind::GroupMemory) return true;
    // The kernel's thread only notices that the grace period is over.
    if (facts.reason == BlockReason::RcuGracePeriod) return true;
    if (wait.wake_cause != WakeCause::Unknown) return false;
    return facts.ends_by_interrupt && !is_kernel_thread(recording, wait.waker_tid);
}

StackId ChainWalk::Sum::nearest(std::uint64_t at_ns) const {
    if (sightings.empty()) return 0;
    const auto next =
        std::lower_bound(sightings.begin(), sightings.end(), at_ns,
                         [](const Sighting& seen, std::uint64_t at) { return seen.ran_ns < at; });
    if (next == sightings.end()) return sightings.back().stack;
    if (next == sightings.begin() || next->ran_ns == at_ns) return next->stack;
    const auto last = next - 1;
    return at_ns - last->ran_ns <= next->ran_ns - at_ns ? last->stack : next->stack;
}

void ChainWalk::walk(const std::vector<Interval>& intervals) { walk(0, intervals); }

void ChainWalk::walk(std::uint32_t position, const std::vector<Interval>& intervals) {
    std::vector<Interval> pieces = by_holder(recording_, intervals);
    blame_full_listeners(recording_, pieces);
    blame_givers_of_work(recording_, pieces);
    visited_ += pieces.size();
    for (const Interval& interval : pieces) {
        Sum& sum = sums_[{position, interval.tid}];
        switch (interval.state) {
            case ThreadState::Running: add_running(interval, sum); break;
            case ThreadState::Runnable:
                sum.cpu_waits.push_back({sum.ran_ns, interval.length_ns()});
                break;
            case ThreadState::Blocked:
                sum.sightings.push_back({sum.ran_ns, interval.stack});
                add_blocked(position, interval);
                break;
            case ThreadState::NotRecorded:
            case ThreadState::Exited: add_unknown(interval, sum); break;
        }
    }
}

void ChainWalk::add_running(const Interval& interval, Sum& sum) {
    sum.on_cpu_ns += interval.length_ns();
    if (const Thread* thread = recording_.find_thread(interval.tid); thread != nullptr) {
        for_samples(*thread, {interval.begin_ns, interval.end_ns}, [&](const Sample& sample) {
            ++sum.samples[sample.stack];
            sum.sightings.push_back(
                {sum.ran_ns + (sample.at_ns - interval.begin_ns), sample.stack});
        });
    }
    sum.ran_ns += interval.length_ns();
}

void ChainWalk::add_unknown(const Interval& interval, Sum& sum) {
    std::uint64_t on_cpu_ns = 0;
    const Thread* thread =
        interval.gap == Interval::Gap::Lost ? recording_.find_thread(interval.tid) : nullptr;
    if (thread != nullptr) {
        for_samples(*thread, {interval.begin_ns, interval.end_ns}, [&](const Sample& sample) {
            ++sum.samples[sample.stack];
            on_cpu_ns += recording_.sample_interval_ns();
        });
        on_cpu_ns = std::min(on_cpu_ns, interval.length_ns());
    }
    sum.on_cpu_ns += on_cpu_ns;
    if (on_cpu_ns < interval.length_ns())
        sum.unknown_ns[to_text(interval)] += interval.length_ns() - on_cpu_ns;
}

bool ChainWalk::is_followed(std::uint32_t position, const Interval& wait) const {
    if (wait.waker_tid == wait.tid || ended_by_nobody(recording_, wait)) return false;
    if (interruption_of(recording_, wait) != Interruption::None) return false;
    if (recording_.find_thread(wait.waker_tid) == nullptr) return false;
    // For the waker of a wait before the recording, only its place is known.
    if (wait.end_ns <= recording_.begin_ns) return false;
    if (positions_[position].depth + 1 >= wait_chain_depth) return false;
    for (std::uint32_t at = position; at != 0; at = positions_[at].parent) {
        if (positions_[at].wait.tid == wait.waker_tid) return false;
    }
    return true;
}

void ChainWalk::add_blocked(std::uint32_t position, const Interval& interval) {
    const bool followed = is_followed(position, interval);
    const bool has_room = visited_ < visit_limit && positions_.size() < position_limit;
    if (!followed || !has_room) {
        if (followed) ++waits_cut_;
        sums_[{position, interval.tid}].blocked_ns[interval.stack] += interval.length_ns();
        return;
    }
    walk(next_position(position, interval),
         intervals_of_thread(recording_, interval.waker_tid, {interval.begin_ns, interval.end_ns}));
}

std::uint32_t ChainWalk::next_position(std::uint32_t position, const Interval& wait) {
    const auto [known, added] = known_positions_.try_emplace(
        {position, wait.tid, wait.stack}, static_cast<std::uint32_t>(positions_.size()));
    if (added)
        positions_.push_back({position, positions_[position].depth + 1, {wait.tid, wait.stack}});
    return known->second;
}

std::vector<ChainTime> ChainWalk::times() const {
    std::vector<ChainTime> times;
    for (const auto& [place, sum] : sums_) {
        const auto add = [&, position = place.first, tid = place.second](
                             std::uint64_t time_ns, TimeKind kind, StackId stack,
                             std::string_view why = {}) {
            if (time_ns > 0) times.push_back({time_ns, position, tid, kind, stack, why});
        };
        std::uint64_t samples = 0;
        for (const auto& [stack, count] : sum.samples) samples += count;
        // Distributed by counts, exactly: rounding errors carry over to the next stack.
        std::uint64_t seen = 0;
        std::uint64_t given_ns = 0;
        for (const auto& [stack, count] : sum.samples) {
            seen += count;
            // A stack is in the map because it was sampled, so this is never 0; clang's analyzer
            // cannot know that.
            const auto until_ns =
                static_cast<std::uint64_t>(static_cast<unsigned __int128>(sum.on_cpu_ns) * seen /
                                           std::max<std::uint64_t>(samples, 1));
            add(until_ns - std::exchange(given_ns, until_ns), TimeKind::OnCpu, stack);
        }
        if (samples == 0) add(sum.on_cpu_ns, TimeKind::OnCpu, 0);
        for (const auto& [stack, time_ns] : sum.blocked_ns) add(time_ns, TimeKind::Blocked, stack);
        for (const auto& [why, time_ns] : sum.unknown_ns) add(time_ns, TimeKind::Unknown, 0, why);
        std::map<StackId, std::uint64_t> runnable_ns;
        for (const CpuWait& wait : sum.cpu_waits)
            runnable_ns[sum.nearest(wait.ran_ns)] += wait.length_ns;
        for (const auto& [stack, time_ns] : runnable_ns) add(time_ns, TimeKind::Runnable, stack);
    }
    return times;
}

std::vector<ChainWalk::Wait> ChainWalk::waits_before(std::uint32_t position) const {
    std::vector<Wait> waits;
    for (std::uint32_t at = position; at != 0; at = positions_[at].parent)
        waits.push_back(positions_[at].wait);
    std::reverse(waits.begin(), waits.end());
    return waits;
}

}  // namespace lagtrap::analysis
