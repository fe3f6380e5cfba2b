#include "analysis/lock_turns.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "analysis/block_reason.hpp"

namespace lagtrap::analysis {

namespace {

bool is_before(const LockTurn& turn, std::uint64_t at_ns) { return turn.at_ns < at_ns; }

class Pieces {
  public:
    Pieces(const Interval& wait, std::vector<Interval>& out)
        : wait_(wait), out_(out), from_ns_(wait.begin_ns) {}

    // `holder` had it since the end of the previous piece. If it `released` it, it is known to have
    // had it, even if whoever should have ended the wait is only likely.
    void add(std::uint64_t until_ns, std::uint32_t holder, bool released = false) {
        if (until_ns <= from_ns_) return;
        const bool is_likely = wait_.likely && !released;
        if (count_ > 0 && out_.back().waker_tid == holder && out_.back().likely == is_likely) {
            out_.back().end_ns = until_ns;
        } else {
            if (count_ > 0) out_.back().handed_on = true;
            Interval piece = wait_;
            piece.begin_ns = from_ns_;
            piece.end_ns = until_ns;
            piece.set_waker(holder);
            piece.likely = is_likely;
            out_.push_back(piece);
            ++count_;
        }
        from_ns_ = until_ns;
    }

  private:
    const Interval& wait_;
    std::vector<Interval>& out_;
    std::uint64_t from_ns_;
    std::size_t count_ = 0;
};

// Only one thread holds a lock at a time, and wakes a waiting one when it releases it. So it held
// the lock since the previous release, and counts even if it never waited for the lock.
void add_releases(std::span<const LockTurn> turns, const Interval& wait, Pieces pieces) {
    auto turn = std::lower_bound(turns.begin(), turns.end(), wait.begin_ns + 1, is_before);
    for (; turn != turns.end() && turn->at_ns < wait.end_ns; ++turn)
        pieces.add(turn->at_ns, turn->from_tid, true);
    const bool is_released = turn != turns.end();
    pieces.add(wait.end_ns, is_released ? turn->from_tid : wait.waker_tid, is_released);
}

// A thread that had it until `until_ns`, from the end of the next piece on.
struct BackwardPiece {
    std::uint64_t until_ns;
    std::uint32_t holder;
};

// Threads that wait for a monitor of Java sleep on a futex each. A thread that leaves it wakes the
// next one, which then had it until it wakes another.
class JavaMonitors {
  public:
    explicit JavaMonitors(const Recording& recording) : recording_(recording) {}

    [[nodiscard]] bool is_wait(StackId stack) {
        const auto [known, added] = known_.try_emplace(stack, false);
        if (!added) return known->second;
        const auto frames = recording_.stacks[stack];
        known->second = std::any_of(frames.begin(), frames.end(), [&](std::uint32_t place) {
            const Frame& frame = recording_.frames[place];
            return frame.named && recording_.name(frame.label).starts_with("ObjectMonitor::");
        });
        return known->second && wait_kind_of(recording_, stack) == WaitKind::Lock;
    }

    void add_holders(const Interval& wait, Pieces pieces) {
        constexpr std::size_t turns_limit = 1000;
        std::vector<BackwardPiece> backwards;
        std::uint64_t until_ns = wait.end_ns;
        std::uint32_t holder = wait.waker_tid;
        while (backwards.size() < turns_limit) {
            const StateChange* const end = end_of_last_wait(holder, until_ns);
            if (end == nullptr || end->at_ns <= wait.begin_ns || end->waker_tid == wait.tid) break;
            backwards.push_back({until_ns, holder});
            until_ns = end->at_ns;
            holder = end->waker_tid;
        }
        pieces.add(until_ns, holder);
        for (auto piece = backwards.rbegin(); piece != backwards.rend(); ++piece)
            pieces.add(piece->until_ns, piece->holder);
    }

  private:
    // nullptr if the thread's last wait before that was for something else, or no thread ended it.
    [[nodiscard]] const StateChange* end_of_last_wait(std::uint32_t tid, std::uint64_t before_ns) {
        const Thread* const thread = recording_.find_thread(tid);
        if (thread == nullptr) return nullptr;
        auto change = std::lower_bound(
            thread->changes.begin(), thread->changes.end(), before_ns,
            [](const StateChange& one, std::uint64_t at_ns) { return one.at_ns < at_ns; });
        while (change != thread->changes.begin() && (change - 1)->state != ThreadState::Blocked)
            --change;
        if (change == thread->changes.begin() || change == thread->changes.end() ||
            change->at_ns >= before_ns)
            return nullptr;
        const bool by_thread = change->woken && !change->by_interrupt && change->waker_tid != 0;
        return by_thread && is_wait((change - 1)->stack) ? &*change : nullptr;
    }

    const Recording& recording_;
    std::map<StackId, bool> known_;
};

// For a signal or semaphore, only this is certain: a thread that received it and passed it on had
// it in between.
void add_hand_overs(std::span<const LockTurn> turns, const Interval& wait, Pieces pieces) {
    std::vector<BackwardPiece> backwards;
    std::uint64_t until_ns = wait.end_ns;
    std::uint32_t holder = wait.waker_tid;
    auto turn = std::lower_bound(turns.begin(), turns.end(), wait.end_ns, is_before);
    // The interval may be the first part of a wait that continues.
    const auto end = std::find_if(turn, turns.end(),
                                  [&](const LockTurn& later) { return later.to_tid == wait.tid; });
    if (end != turns.end() && end->from_tid == wait.waker_tid) turn = end;
    while (turn != turns.begin() && (turn - 1)->at_ns > wait.begin_ns) {
        --turn;
        if (turn->to_tid != holder || turn->from_tid == wait.tid) continue;
        if (turn->at_ns < wait.end_ns) backwards.push_back({until_ns, holder});
        until_ns = std::min(turn->at_ns, wait.end_ns);
        holder = turn->from_tid;
    }
    pieces.add(until_ns, holder);
    for (auto piece = backwards.rbegin(); piece != backwards.rend(); ++piece)
        pieces.add(piece->until_ns, piece->holder);
}

std::uint32_t last_lock_of(const Recording& recording) {
    std::uint32_t last = 0;
    for (const LockSighting& seen : recording.lock_sightings) last = std::max(last, seen.lock);
    for (const Thread& thread : recording.threads)
        for (const StateChange& change : thread.changes) last = std::max(last, change.lock);
    return last;
}

// A process has one mmap_lock, so its waiters need no number from the kernel.
void number_memory_maps(Recording& recording) {
    constexpr std::uint64_t judged_changes_limit = 10'000'000;
    std::uint32_t last = last_lock_of(recording);
    std::uint64_t judged = 0;
    std::map<StackId, bool> known;
    std::map<std::uint32_t, std::uint32_t> locks;  // by process
    for (Thread& thread : recording.threads) {
        for (StateChange& change : thread.changes) {
            if (change.state != ThreadState::Blocked || change.lock != 0 || change.stack == 0)
                continue;
            if (++judged > judged_changes_limit) return;
            const auto [place, is_new] = known.try_emplace(change.stack, false);
            if (is_new) place->second = is_for_own_memory_map(recording, change.stack);
            if (!place->second) continue;
            std::uint32_t& lock = locks[thread.pid];
            if (lock == 0) lock = ++last;
            change.lock = lock;
        }
    }
}

}  // namespace

void find_lock_turns(Recording& recording) {
    number_memory_maps(recording);
    for (const Thread& thread : recording.threads) {
        for (std::size_t i = 1; i < thread.changes.size(); ++i) {
            const StateChange& wait = thread.changes[i - 1];
            const StateChange& end = thread.changes[i];
            const bool by_thread = end.woken && !end.by_interrupt && end.waker_tid != 0;
            if (wait.state != ThreadState::Blocked || wait.lock == 0 || !by_thread) continue;
            if (wait.lock >= recording.lock_turns.size())
                recording.lock_turns.resize(wait.lock + 1);
            recording.lock_turns[wait.lock].push_back({end.at_ns, end.waker_tid, thread.tid});
        }
    }
    for (auto& turns : recording.lock_turns) {
        std::stable_sort(turns.begin(), turns.end(),
                         [](const LockTurn& a, const LockTurn& b) { return a.at_ns < b.at_ns; });
    }
    std::sort(recording.lock_sightings.begin(), recording.lock_sightings.end(),
              [](const LockSighting& a, const LockSighting& b) {
                  return std::tie(a.lock, a.at_ns) < std::tie(b.lock, b.at_ns);
              });
}

std::vector<Interval> by_holder(const Recording& recording,
                                const std::vector<Interval>& intervals) {
    std::vector<Interval> pieces;
    pieces.reserve(intervals.size());
    JavaMonitors monitors(recording);
    for (const Interval& wait : intervals) {
        const bool by_signal =
            wait.wake_cause == WakeCause::Signal || wait.wake_cause == WakeCause::Killed;
        const bool by_thread =
            wait.woken && !wait.by_interrupt && wait.waker_tid != 0 && !by_signal;
        if (wait.state == ThreadState::Blocked && by_thread && monitors.is_wait(wait.stack)) {
            monitors.add_holders(wait, Pieces(wait, pieces));
            continue;
        }
        if (wait.state != ThreadState::Blocked || !by_thread ||
            wait.lock >= recording.lock_turns.size()) {
            pieces.push_back(wait);
            continue;
        }
        const std::vector<LockTurn>& turns = recording.lock_turns[wait.lock];
        const auto first =
            std::lower_bound(turns.begin(), turns.end(), wait.begin_ns + 1, is_before);
        if (first == turns.end() || first->at_ns >= wait.end_ns) {
            pieces.push_back(wait);
        } else if (const WaitKind kind = wait_kind_of(recording, wait.stack);
                   kind == WaitKind::Lock || kind == WaitKind::MemoryMap) {
            add_releases(turns, wait, Pieces(wait, pieces));
        } else {
            add_hand_overs(turns, wait, Pieces(wait, pieces));
        }
    }
    return pieces;
}

}  // namespace lagtrap::analysis
